"""The engine's vocabulary: what people type, and what they are told, is the same in a page as in Python.

Hypothesis makes the texts, Python answers, and JavaScript is held to the answers, whole messages
included. The cases of a test go through one Node process.
"""

from __future__ import annotations

import difflib
import json
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.javascript import answers_in_node
from viz_transformer import load_language_model, load_masked_model
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Side, Vocabulary, join_tokens, split_sentences
from viz_transformer.vocabulary.spelling import MARKS, Spellings, fold, split_text

SIDES: tuple[Side, Side] = ("source", "target")
#: Letters with accents and case of their own, marks, and white space that JavaScript has other ideas of.
ALPHABET = "aáàbßẞñÑnN\u0301\u0303üÜeio ıİσςΣﬁ中🐈1½_-'’\"¿¡?!.,;…«»()<>\n\t\x1c\x85\xa0\u200b\ufeff\\"
TYPED = st.text(ALPHABET, max_size=24)
ANSWER = """({ vocabularies, cases }) => cases.map(([number, side, text]) => {
  const words = vocabularies[number].made ??= makeVocabulary(vocabularies[number]);
  try {
    const ids = words.encode(text, side);
    return { ids, tokens: words.tokensOf(ids), text: words.decode(ids), words: words.wordsOf(text, side) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { name, message, suggestions = null, sentences = null } = error;
    return { name, message, suggestions, sentences };
  }
})"""


def answer_of_python(vocabulary: Vocabulary, side: Side, text: str) -> dict[str, Any]:
    try:
        ids = vocabulary.encode(text, side)
    except UserError as error:
        return {
            "name": type(error).__name__,
            "message": str(error),
            "suggestions": getattr(error, "suggestions", None),
            "sentences": list(error.sentences) if hasattr(error, "sentences") else None,
        }
    return {
        "ids": ids,
        "tokens": list(vocabulary.tokens_of(ids)),
        "text": vocabulary.decode(ids),
        "words": vocabulary.words_of(text, side),
    }


def check(vocabularies: list[Vocabulary], cases: list[tuple[int, Side, str]]) -> None:
    """Hold JavaScript to Python's answers."""
    read = [json.loads(each.to_json()) for each in vocabularies]
    imports = {"makeVocabulary": "engine/vocabulary.ts", "UserError": "engine/errors.ts"}
    answers = answers_in_node(imports, ANSWER, {"vocabularies": read, "cases": cases})
    for (number, side, text), answer in zip(cases, answers, strict=True):
        assert answer == answer_of_python(vocabularies[number], side, text), (text, side)


def examples(strategy: st.SearchStrategy, n: int) -> list[Any]:
    """Return what a strategy makes, the same for each run."""
    made: list[Any] = []

    @settings(max_examples=n, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(example: Any) -> None:
        made.append(example)

    collect()
    return made


@st.composite
def typed_variants(draw: st.DrawFn, words: list[str]) -> str:
    """Draw a sentence of known words, typed as people type: other case, lost accents, a wrong letter."""
    typed = []
    for word in draw(st.lists(st.sampled_from(words), min_size=1, max_size=6)):
        change = draw(st.sampled_from(("none", "none", "upper", "title", "plain", "swap", "drop", "double")))
        at = draw(st.integers(0, max(0, len(word) - 2)))
        typed.append(
            {
                "none": word,
                "upper": word.upper(),
                "title": word.title(),
                "plain": fold(word),
                "swap": word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
                "drop": word[:at] + word[at + 1 :],
                "double": word[: at + 1] + word[at:],
            }[change]
        )
    joints = st.sampled_from((" ", " ", " ", ", ", "  ", ". ", "! ", "."))
    end = draw(st.sampled_from(("", ".", "?")))
    return typed[0] + "".join(draw(joints) + word for word in typed[1:]) + end


def test_the_engine_reads_typed_text_as_python_does(translator) -> None:
    vocabularies = [translator.vocabulary, load_language_model().vocabulary, load_masked_model().vocabulary]
    cases: list[tuple[int, Side, str]] = []
    for number, vocabulary in enumerate(vocabularies):
        languages = SIDES[: len(set(vocabulary.languages))]  # of a model of one: the same words
        for side in SIDES:
            cases += [(number, side, text) for text in examples(TYPED, 40)]
        for other in languages:  # typed in either language, expected in one
            variants = examples(typed_variants(list(vocabulary.words(other))), 30)
            cases += [(number, side, text) for side in languages for text in variants]
    check(vocabularies, cases)


#: What the vocabulary has a word to say of, or reads although it looks odd.
SAID = [
    *("", " \u2009\n", "?!", "the dragon sleeps", "dragons, dragons and a wizzard", "xyzzyx", "a" * 70),
    *("the cat isn't black, it's white", "I'm here and you're there; they won't, she can't", "IT’S THE CAT"),
    *("el gato es negro", "el gato es black", "donde esta el gato", "¿dónde está?¡hola!"),
    *(
        "The cat sleeps. The dog runs.",
        "The cat sleeps. The dog runs! Who sings?",
        "the cat sleeps.the dog runs",
    ),
    "Where is Mr. Pedro? e.g. 3.5 cats... and www.example.com",
    "'the' \"cat\" – it's \\ a 'quote' \"too\"",
    "she said “hello.” The cat sleeps",
    *("the\u200bcat", "the cat \N{CAT} " * 8, "<mask> <eos> <pad>"),
]


def test_the_engine_judges_a_text_as_python_does(translator) -> None:
    vocabularies = [translator.vocabulary, load_masked_model().vocabulary]
    check(vocabularies, [(number, side, text) for text in SAID for number in (0, 1) for side in SIDES])


WORDS = st.text("aáàbßẞñÑnN\u0301\u0303eoσςΣﬁﬀıİ中🐈'-½", min_size=1, max_size=5)


def test_any_words_make_a_vocabulary() -> None:
    sides = st.lists(st.one_of(WORDS, st.sampled_from(sorted(MARKS))), min_size=1, max_size=12)
    made = examples(st.tuples(sides, sides, st.booleans(), st.booleans(), st.lists(TYPED, max_size=4)), 120)
    vocabularies = [
        Vocabulary(source, target, languages=("Ours", "Theirs"), several_sentences=several, mask=mask)
        for source, target, several, mask, _ in made
    ]
    cases = [
        (number, side, text)
        for number, (source, target, *_, texts) in enumerate(made)
        for side in SIDES
        for text in (*texts, " ".join(source), " ".join(target).upper(), "".join(target))
    ]
    check(vocabularies, cases)
    tokens = answers_in_node(
        {"makeVocabulary": "engine/vocabulary.ts"},
        "(read) => read.map(makeVocabulary).map((v) => [v.tokens, v.words('source'), v.words('target')])",
        [json.loads(each.to_json()) for each in vocabularies],
    )
    assert tokens == [[list(v.tokens), *(list(v.words(side)) for side in SIDES)] for v in vocabularies]


def test_the_ratio_is_that_of_difflib() -> None:
    words = st.text("aabcé🐈", max_size=9)
    pairs = examples(st.tuples(words, words), 400)
    ratios = answers_in_node(
        {"ratio": "engine/spelling.ts"}, "(pairs) => pairs.map(([one, other]) => ratio(one, other))", pairs
    )
    assert ratios == [difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs]


def test_text_is_split_folded_found_and_joined_as_in_python() -> None:
    texts = examples(TYPED, 400) + [chr(code) * 2 for code in range(1, 0x2FF)]
    words = examples(st.lists(WORDS, min_size=1, max_size=8), 100)
    typed = [fold(each[0]).upper() for each in words]
    answers = answers_in_node(
        {
            "splitText": "engine/spelling.ts",
            "splitSentences": "engine/spelling.ts",
            "fold": "engine/spelling.ts",
            "makeSpellings": "engine/spelling.ts",
            "joinTokens": "engine/spelling.ts",
            "repr": "engine/errors.ts",
        },
        """({ texts, words, typed }) => [
          texts.map(splitText), texts.map(splitSentences), texts.map(fold), texts.map(repr),
          texts.map((text) => joinTokens(splitText(text))),
          words.map((each, i) => makeSpellings(each).find(typed[i]) ?? null),
        ]""",
        {"texts": texts, "words": words, "typed": typed},
    )
    assert answers == [
        [split_text(text) for text in texts],
        [split_sentences(text) for text in texts],
        [fold(text) for text in texts],
        [repr(text) for text in texts],
        [join_tokens(split_text(text)) for text in texts],
        [Spellings(each).find(one) for each, one in zip(words, typed, strict=True)],
    ]


def test_values_are_shown_as_python_shows_them() -> None:
    values = [None, True, False, 3, -2, 0.5, 1e-7, 1.5e-10, 1e22, "a'b", 'a"b', "'\"'", [1, "x", [None]]]
    assert answers_in_node({"repr": "engine/errors.ts"}, "(values) => values.map(repr)", values) == [
        repr(value) for value in values
    ]


def test_pieces_of_words_need_python() -> None:
    said = answers_in_node(
        {"makeVocabulary": "engine/vocabulary.ts"},
        """(read) => read.map((each) => {
          try { makeVocabulary(each); } catch (error) { return [error.name, error.message]; }
        })""",
        [{"merges": [["a", "b"]]}, {}, None],
    )
    assert [name for name, _ in said] == ["NotInPage", "UserError", "UserError"]
    assert "open the notebook in Jupyter" in said[0][1]


def test_random_numbers_are_those_of_python() -> None:
    seeds = [*range(20), 2**31, 2**32 - 1, 2**32, 2**40 + 7, 2**53 - 1]
    drawn = answers_in_node(
        {"makeRandom": "engine/random.ts"},
        "(seeds) => seeds.map((seed) => Array.from({ length: 1300 }, makeRandom(seed)))",
        seeds,
    )
    for seed, numbers in zip(seeds, drawn, strict=True):
        generator = random.Random(seed)
        assert numbers == [generator.random() for _ in range(1300)], seed
