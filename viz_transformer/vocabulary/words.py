"""The word vocabulary: one joint vocabulary for both languages, its tokens words and marks."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence

from viz_transformer._bounds import TOKENS, whole_number
from viz_transformer._text import given_text, join_tokens, quoted
from viz_transformer.errors import UserError
from viz_transformer.vocabulary.spelling import MARKS, Spellings, fold, split_sentences, split_text
from viz_transformer.vocabulary.tokeniser import MASK, SPECIAL_TOKENS, Side, Tokeniser

#: What an error suggests to type, by side, where the vocabulary has these words.
_EXAMPLES: dict[Side, str] = {"source": "the cat is black", "target": "el gato es negro"}
#: How many unknown words are named, and how many letters of one are compared with known words.
_MOST_UNKNOWN, _MOST_LETTERS = 5, 40


class UnknownWordError(UserError):
    """A text holds words that are not in the vocabulary.

    >>> from viz_transformer.vocabulary import UnknownWordError
    >>> error = UnknownWordError({"catt": ["cat"]}, "English")

    Attributes:
        words: the first unknown words, in the order of the text.
        suggestions: for each of them the nearest known words, nearest first.
    """

    def __init__(self, suggestions: dict[str, list[str]], language: str, n_others: int = 0) -> None:
        """Name each unknown word with its nearest known ones, and give the number of others."""
        self.words = tuple(suggestions)
        self.suggestions = suggestions
        hints = [
            f"unknown {language} word {quoted(word)}"
            + (f" (did you mean {_listed(near, 'or')}?)" if near else "")
            for word, near in suggestions.items()
        ]
        others = [f"and {n_others} more unknown words"] if n_others else []
        super().__init__("; ".join([*hints, *others]))


class SeveralSentencesError(UserError):
    """A text holds several sentences, and the model reads one at a time.

    >>> from viz_transformer.vocabulary import SeveralSentencesError
    >>> error = SeveralSentencesError(["the cat sleeps.", "the dog sleeps."])

    Attributes:
        sentences: they, in the order of the text.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        """Name the sentences."""
        self.sentences = tuple(sentences)
        named = _listed([f"{sentence:.60}" for sentence in sentences[:2]], "and")
        given = f"{named} are two sentences"
        if len(sentences) > 2:
            given = f"the text holds {len(sentences)} sentences, the first of them {named}"
        super().__init__(f"{given}, and one is expected; translate them one at a time")


class Vocabulary(Tokeniser):
    """A joint vocabulary: ``<pad> <sos> <eos>`` are ids 0 1 2, then all words, sorted.

    A word that both languages spell alike (*animal*, *no*) has one id; each side still knows only
    its own words, so a Spanish word typed as English is reported and not translated into noise.
    Words keep their accents and capitals, and a punctuation mark may be a word like any other.

    >>> from viz_transformer.vocabulary import Vocabulary
    >>> words = Vocabulary(["cat", "the"], ["el", "gato"])
    >>> words.tokens
    ('<pad>', '<sos>', '<eos>', 'cat', 'el', 'gato', 'the')

    Attributes:
        several_sentences: whether a source may hold more than one sentence.
    """

    def __init__(
        self,
        source_words: Iterable[str],
        target_words: Iterable[str],
        *,
        languages: tuple[str, str] = ("English", "Spanish"),
        several_sentences: bool = False,
        mask: bool = False,
    ) -> None:
        """Make a vocabulary from the words of both sides; with `mask`, ``<mask>`` is its last token.

        Raises:
            UserError: if a word is a special token or holds white space.
        """
        self._words: dict[Side, frozenset[str]] = {
            "source": frozenset(source_words),
            "target": frozenset(target_words),
        }
        self.languages = languages
        self.several_sentences = several_sentences
        words = self._words["source"] | self._words["target"]
        for word in sorted(words):
            if word in (*SPECIAL_TOKENS, MASK) or word.split() != [word]:
                raise UserError(f"{word!r} cannot be a word; give words without spaces or <tags>")
        self.tokens: tuple[str, ...] = (*SPECIAL_TOKENS, *sorted(words), *([MASK] if mask else ()))
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._spellings = {side: Spellings(known) for side, known in self._words.items()}

    def __eq__(self, other: object) -> bool:
        """Equal vocabularies give equal ids and know the same words on each side."""
        return isinstance(other, Vocabulary) and (self._words, self.tokens) == (other._words, other.tokens)

    @property
    def mask_id(self) -> int | None:
        """The id of ``<mask>``, or None where the vocabulary has none."""
        return self._ids.get(MASK)

    def words(self, side: Side = "source") -> tuple[str, ...]:
        """Return one side's words, sorted."""
        return tuple(sorted(self._words[side]))

    def words_of(self, text: str, side: Side = "source") -> list[str]:
        """Return the words that a text is made of, spelled as one side spells them.

        Contractions are spelled out; case and accents are matched by `Spellings`. An unknown
        word stays as it is, and a mark that the side does not know is left out.
        """
        found = [(token, self._spellings[side].find(token)) for token in split_text(text)]
        return [word or token for token, word in found if word or token not in MARKS]

    def encode(self, text: str, side: Side = "source") -> list[int]:
        """Turn text into ids, without ``<sos>`` and ``<eos>``.

        Raises:
            UnknownWordError: if a word is not known on that side; nearest known ones are named.
            SeveralSentencesError: if a source holds several sentences, and `several_sentences`
                is False.
            UserError: if the text holds no word at all, or is of the other language.
        """
        words = self.words_of(text, side)
        if not words:
            language = self._language(side)
            raise UserError(f"{text!r:.40} holds no word; type a sentence in {language}")
        if side == "source" and not self.several_sentences:
            self._refuse_several_sentences(text)
        known = self._words[side] | ({MASK} & self._ids.keys())
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        if unknown:
            self._refuse_other_language(text, words, unknown, side)
            first = unknown[:_MOST_UNKNOWN]
            suggestions = {word: self.nearest(word, side) for word in first}
            raise UnknownWordError(suggestions, self._language(side), len(unknown) - len(first))
        return [self._ids[word] for word in words]

    def _refuse_several_sentences(self, text: str) -> None:
        parts = split_sentences(text)
        if len(parts) > 1:
            # Without a known word it is no sentence: "Mr.", or the parts of "www.example.com".
            known = self._words["source"].intersection
            parts = [part for part in parts if known(self.words_of(part))]
        if len(parts) > 1:
            raise SeveralSentencesError(parts)

    def _refuse_other_language(
        self, text: str, words: Sequence[str], unknown: Sequence[str], side: Side
    ) -> None:
        """Raise a UserError if the other side knows most of the unknown words, and more of all."""
        other: Side = "target" if side == "source" else "source"
        foreign = [word for word in unknown if self._spellings[other].find(word)]
        n_here = sum(word in self._words[side] for word in words)
        n_there = sum(self._spellings[other].find(word) is not None for word in words)
        if n_there <= n_here or 2 * len(foreign) <= len(unknown):
            return
        example = _EXAMPLES[side]
        known = all(word in self._words[side] for word in example.split())
        wanted = self._language(side)
        raise UserError(
            f"{text!r:.60} is {self._language(other)} ({_listed(foreign[:2], 'and')}), and {wanted} is "
            f"expected here; type it in {wanted}{f', such as {example!r}' if known else ''}"
        )

    def _language(self, side: Side) -> str:
        return self.languages[0 if side == "source" else 1]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text; special tokens are left out."""
        return join_tokens(token for token in self.tokens_of(ids) if token not in SPECIAL_TOKENS)

    def word_numbers(self, ids: Iterable[int]) -> None:
        """Return None: every token is a word."""

    def nearest(self, word: str, side: Side = "source", n: int = 3) -> list[str]:
        """Return the `n` known words that are spelled most like `word`, nearest first.

        Case and accents do not count, and only the first letters of a very long word.
        """
        whole_number("n", n, TOKENS)
        typed = fold(given_text(word, "the word"))[:_MOST_LETTERS]
        similarity = {known: _similarity(typed, fold(known)) for known in self._words[side] - MARKS}
        nearest = sorted(similarity, key=lambda known: (-similarity[known], known))[:n]
        return [known for known in nearest if similarity[known] >= 0.6] or nearest[:1]

    def to_json(self) -> str:
        """Return the vocabulary as JSON."""
        return json.dumps(
            {
                "languages": self.languages,
                **({"several_sentences": True} if self.several_sentences else {}),
                "source_words": self.words("source"),
                "target_words": self.words("target"),
                **({"mask": True} if MASK in self._ids else {}),
            },
            ensure_ascii=False,
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read what `to_json` wrote.

        Raises:
            UserError: if the text is not such JSON.
        """
        try:
            read = json.loads(text)
            first, second = read["languages"]
            return cls(
                read["source_words"],
                read["target_words"],
                languages=(first, second),
                several_sentences=read.get("several_sentences", False) is True,
                mask=read.get("mask", False) is True,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"the vocabulary is not what Vocabulary.to_json wrote ({error}); write it again"
            ) from error


def _similarity(word: str, known: str) -> float:
    """Return how similarly two words are spelled; typing errors seldom change the first letter."""
    same_start = word[:1] == known[:1]
    return difflib.SequenceMatcher(None, word, known).ratio() + 0.25 * same_start


def _listed(words: Sequence[str], conjunction: str) -> str:
    *firsts, last = map(quoted, words)
    return f"{', '.join(firsts)} {conjunction} {last}" if firsts else last
