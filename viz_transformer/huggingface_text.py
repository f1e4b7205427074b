"""A Hugging Face model that writes, behind the calls on text that a lab makes of our own models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer._bounds import BEAM, NEW_TOKENS, room_for, whole_number
from viz_transformer._work import between_parts
from viz_transformer.capturing import capture
from viz_transformer.capturing.generating import most_written
from viz_transformer.capturing.running import attention_implementation, evaluating
from viz_transformer.decoding import from_generate
from viz_transformer.decoding.constraints import Words
from viz_transformer.decoding.huggingface import Drawing, words_of
from viz_transformer.errors import UserError
from viz_transformer.interpreting import find_sites, interventions, scaled_by_row
from viz_transformer.interpreting.batched_runs import MOST_POSITIONS, BatchedRuns
from viz_transformer.interpreting.metric import difference, token_id
from viz_transformer.model.interventions import UNCHANGED, HeadChange, Interventions
from viz_transformer.text_model import log_probs_of
from viz_transformer.trace import DecodeTrace, ForwardTrace
from viz_transformer.trace.byte_level import shown_tokens

#: At most so many tokens are written, by task: a few words more, or a whole translation.
_MOST_TOKENS = {"continue": 8, "translate": 60}
#: So many of the likeliest tokens are told.
_MOST_LIKELY = 8
#: So many weights at most are kept of a search, all heads and steps together.
_MOST_WEIGHTS = 64_000_000
#: So many positions at most are read by all rows of a search on a processor.
_MOST_SEARCHED = 8_192
#: Settings of a search that leave the likeliest token the likeliest.
_HARMLESS_SETTINGS = {
    *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version"),
    *("_from_model_config", "max_length", "max_new_tokens", "use_cache", "num_beams", "do_sample"),
    *("temperature", "top_k", "top_p", "output_attentions", "output_hidden_states"),
}


@dataclass(frozen=True, eq=False)
class _Reading:
    """What a model reads to judge an answer.

    Attributes:
        given: the arguments of its forward, ids [1, position].
        whole: the ids that its decoder reads, and the last that it writes.
        n_given: how many of the ids that it could write were given in the text.
        source: the tokens of the source; None if there is none.
    """

    given: dict[str, Tensor]
    whole: list[int]
    n_given: int
    source: tuple[str, ...] | None

    @property
    def written(self) -> list[int]:
        """The ids that are judged, [position]."""
        return self.whole[1:]


@dataclass(frozen=True, eq=False)
class _Apart:
    """What one change alone does: log-probabilities [position], and scores of the measured tokens."""

    log_probs: NDArray[np.float64]
    scores: NDArray[np.float64]


class HuggingFaceReader:
    """A model that reads text, and its tokenizer.

    Attributes:
        model: the model; it stays as it is.
        tokenizer: turns a text into its input, and ids into tokens.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Join a model and its tokenizer.

        Raises:
            UserError: if the model reads no text, or there is no tokenizer for it.
        """
        if getattr(model, "main_input_name", "input_ids") != "input_ids":
            raise UserError(f"{type(model).__name__} reads no text; give a model that reads one")
        if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
            name = type(model).__name__
            raise UserError(
                f"{name} reads token ids, and tokenizer={tokenizer!r:.40} makes none; give its tokenizer: "
                "tokenizer=AutoTokenizer.from_pretrained(...)"
            )
        self.model = model
        self.tokenizer = tokenizer

    def shown(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return tokens as labels: those of a byte-level tokenizer as text, each space as Ġ."""
        return shown_tokens(self.tokenizer, tokens)

    def tokens_of(self, ids: list[int]) -> tuple[str, ...]:
        """Return the labels of ids."""
        return self.shown(self._tokens(ids))

    def _tokens(self, ids: list[int]) -> tuple[str, ...]:
        return tuple(map(str, self.tokenizer.convert_ids_to_tokens(ids)))

    def trace(self, text: str) -> ForwardTrace:
        """Return the attention while the model reads a text; an encoder–decoder its own answer too.

        Raises:
            UserError: if the text is empty or too long.
        """
        if self.model.config.is_encoder_decoder:
            writer = HuggingFaceText(self.model, self.tokenizer)
            return writer.judge(text, writer.answer(text))[0]
        return capture(self.model, text, tokenizer=self.tokenizer, verify=False)


class HuggingFaceText(HuggingFaceReader):
    """A causal language model or an encoder–decoder, and its tokenizer.

    Attributes:
        task: ``"continue"``, or of an encoder–decoder ``"translate"``.
        max_new_tokens: at most so many tokens are written.
    """

    def __init__(self, model: Any, tokenizer: Any, max_new_tokens: int | None = None) -> None:
        """Join a model and its tokenizer.

        Raises:
            UserError: if the model can't write, reads no text, or there is no tokenizer for it.
        """
        generates = hasattr(model, "can_generate") and model.can_generate()
        if not generates or model.main_input_name != "input_ids":
            name = type(model).__name__
            raise UserError(
                f"{name} does not write text after a text; give a causal language model or an "
                "encoder–decoder, such as AutoModelForCausalLM and AutoModelForSeq2SeqLM load"
            )
        if max_new_tokens is not None:
            whole_number("max_new_tokens", max_new_tokens, NEW_TOKENS)
        super().__init__(model, tokenizer)
        self.task = "translate" if model.config.is_encoder_decoder else "continue"
        self.max_new_tokens = max_new_tokens or most_written(model.config, _MOST_TOKENS[self.task])
        self._known: tuple[Any, tuple[str, ...]] = (None, ())
        self._known_searches: tuple[Any, dict[Any, DecodeTrace]] = (None, {})
        self._known_apart: tuple[Any, BatchedRuns, dict[HeadChange, _Apart]] | None = None
        self._known_first: tuple[Any, dict[tuple[HeadChange, ...], Tensor]] = (None, {})
        self._measured_ids: list[int] = []

    def answer(self, text: str, changes: Interventions | None = None) -> tuple[str, ...]:
        """Return the tokens that greedy search writes; of a language model, after those of the text.

        Raises:
            UserError: if the text is empty or too long, or the changes do not fit the model.
        """
        # A lab needs the unchanged model's answer for each of its requests.
        of = (text, self._versions)
        unchanged = changes is None or all(change.is_neutral for change in changes.heads)
        if not unchanged:
            return self._write(text, changes)
        if self._known[0] != of:
            self._known = (of, self._write(text, None))
        return self._known[1]

    def n_given(self, text: str) -> int:
        """Return how many of the tokens that a language model is judged by the text gives."""
        return len(self._read(text)) - 1 if self.task == "continue" else 0

    def decode(
        self, text: str, beam_width: int = 4, length_penalty: float = 1.0, *, attention: bool = False
    ) -> DecodeTrace:
        """Return the beam search of the model's own ``generate``; a beam of 1 is greedy search.

        Args:
            text: what is read.
            beam_width: hypotheses followed.
            length_penalty: of the scores, which divide by length ** length_penalty.
            attention: whether to record what every head looked at, where that is not too much.

        Raises:
            UserError: as `answer`, or if the beam is too wide, or too wide for so long a text.
        """
        whole_number("beam_width", beam_width, BEAM)
        of = (text, beam_width, float(length_penalty), attention)
        if self._known_searches[0] != self._versions:
            self._known_searches = (self._versions, {})
        known = self._known_searches[1]
        if of not in known:
            read = self._read(text)
            words = self._words
            room_for(beam_width * len(words.tokens), f"beam_width={beam_width}")
            self._check_searchable(len(read), beam_width)
            attention = attention and self._few_weights(beam_width, len(read))
            with attention_implementation(self.model, "eager") if attention else nullcontext():
                output = self._generate(
                    self._tensor(read),
                    num_beams=beam_width,
                    num_return_sequences=beam_width,
                    **({"length_penalty": float(length_penalty)} if beam_width > 1 else {}),
                    output_scores=True,
                    output_attentions=attention,
                )
            source = self._tensor(read) if self.task == "translate" else None
            (known[of],) = from_generate(
                output, words, num_beams=beam_width, length_penalty=length_penalty, source_ids=source
            )
        return known[of]

    def sample(
        self,
        text: str,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> DecodeTrace:
        """Return a text that is drawn word by word, as `decoding.sample` draws.

        Raises:
            UserError: as `answer`, or if a number is out of range.
        """
        read = self._read(text)
        drawing = Drawing(self._words, temperature, top_k, top_p, seed)
        self._generate(self._tensor(read), num_beams=1, logits_processor=[drawing])
        tokens = self.shown(self._tokens(read))
        if self.task == "translate":
            return drawing.trace(tokens, self.shown(self._tokens([self._start])))
        return drawing.trace((), tokens)

    def _check_searchable(self, n_read: int, n_rows: int) -> None:
        """Refuse a text that a processor would read for minutes.

        Raises:
            UserError: if it is one.
        """
        if self.model.device.type == "cpu" and n_read * n_rows > _MOST_SEARCHED:
            raise UserError(
                f"the text has {n_read:,} tokens, and a beam of {n_rows} reads each of them {n_rows} times, "
                f"which takes a processor minutes; give at most {_MOST_SEARCHED // n_rows:,} tokens, such as "
                "the end of the text, a smaller beam_width, or a model on a GPU"
            )

    def _few_weights(self, n_rows: int, n_read: int) -> bool:
        """Whether the weights of all heads are few enough to keep in each step of a search."""
        config = self.model.config.get_text_config(decoder=True)
        n_heads = config.num_hidden_layers * config.num_attention_heads
        n_all = n_read + self.max_new_tokens
        return n_rows * n_heads * (n_read**2 + self.max_new_tokens * n_all) <= _MOST_WEIGHTS

    def _write(self, text: str, changes: Interventions | None) -> tuple[str, ...]:
        read = self._read(text)
        with self._changed(changes):
            (written,) = self._search(read, 1)
        return written

    def _search(self, read: list[int], n_rows: int) -> list[tuple[str, ...]]:
        """Return what greedy search writes in each row of a batch of the same text."""
        rows = self._generate(self._tensor(read).expand(n_rows, -1), num_beams=1).sequences
        n_read = 1 if self.task == "translate" else len(read)
        n_begin = 1 if self.task == "translate" else self._n_special(read)
        found = []
        for ids in rows.tolist():
            ends = [i for i in range(n_read, len(ids)) if ids[i] in self._ends]  # then a batch is padded
            found.append(self._tokens(ids[n_begin : ends[0] if ends else None]))
        return found

    def _generate(self, given: Tensor, **options: Any) -> Any:
        """Return what the model's own search returns for texts of one length, [row, position]."""
        n_read = 1 if self.task == "translate" else given.shape[1]

        def told(ids: Tensor, _: Any, **__: Any) -> Tensor:
            """Say how far the search is; it ends by itself."""
            between_parts(f"Writing token {ids.shape[1] - n_read} of at most {self.max_new_tokens}")
            return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)

        with evaluating(self.model):
            return self.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=self.max_new_tokens,
                do_sample=False,
                return_dict_in_generate=True,
                stopping_criteria=[told],
                **options,
            )

    def judge(
        self, text: str, answer: tuple[str, ...], changes: Interventions | None = None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the attention while the model reads an answer, and the log-probabilities of its tokens.

        Args:
            text: what was given.
            answer: what `answer` returned for it.
            changes: the heads to change; None changes nothing.

        Returns:
            The trace, and float64 [position]: of a language model from the second token on, unless
            its tokenizer puts a special one first.

        Raises:
            UserError: as `answer`.
        """
        reading = self._reading(text, answer)
        with self._changed(changes), evaluating(self.model):
            output = self._forward(reading, 1, output_attentions=True)
        return self._judged(reading, output, 0)

    def judge_apart(
        self, text: str, answer: tuple[str, ...], changes: Sequence[HeadChange]
    ) -> Iterator[tuple[ForwardTrace, NDArray[np.float64], tuple[str, ...]]]:
        """Yield what `judge` and `answer` return under each of some changes alone, several in one run.

        Args:
            text: what was given.
            answer: what `answer` returned for it.
            changes: heads, each scaled by its factor.

        Raises:
            UserError: as `answer`.
        """
        reading = self._reading(text, answer)
        for rows in _batches(changes, len(reading.written)):
            with scaled_by_row(self.model, self._numbered(rows)), evaluating(self.model):
                output = self._forward(reading, len(rows), output_attentions=True)
            first = output.logits[:, reading.n_given].detach().float().clone()  # [change, vocab]
            of = (text, answer, self._versions)
            self._known_first = (of, {(rows[i],): first[i] for i in range(len(rows))})
            answers = self._answers_apart(text, answer, reading, output.logits, rows)
            for row, changed in enumerate(answers):
                yield *self._judged(reading, output, row), changed

    def log_probs_apart(
        self, text: str, answer: tuple[str, ...], changes: Sequence[HeadChange]
    ) -> NDArray[np.float64]:
        """Return the log-probabilities that `judge` gives under each of some changes, [change, position]."""
        return np.array([each.log_probs for each in self._judged_apart(text, answer, changes)])

    def measured_apart(
        self, text: str, answer: tuple[str, ...], metric: Sequence[str], changes: Sequence[HeadChange]
    ) -> NDArray[np.float64]:
        """Return what `measured` gives under each of some changes, [change]."""
        ids = self._ids_of(metric)
        self._measured_ids += [each for each in ids if each not in self._measured_ids]
        at = [self._measured_ids.index(each) for each in ids]
        found = [each.scores[at] for each in self._judged_apart(text, answer, changes)]
        return np.array([scores[0] - sum(scores[1:]) for scores in found])

    def measured(
        self, text: str, answer: tuple[str, ...], metric: Sequence[str], changes: Interventions | None = None
    ) -> float:
        """Return the logit of a token where the first word is written, or minus that of a second token.

        Raises:
            UserError: if one of them is no token of the model.
        """
        ids = self._ids_of(metric)
        return float(difference(self._first_scores(text, answer, changes), ids))

    def likeliest(
        self, text: str, answer: tuple[str, ...], changes: Interventions | None = None
    ) -> tuple[tuple[str, ...], list[float]]:
        """Return the tokens that are likeliest where the first word is written, with their probabilities."""
        shares, ids = self._first_scores(text, answer, changes).softmax(-1).topk(_MOST_LIKELY)
        return self._tokens(ids.tolist()), shares.tolist()

    def named(self, token: str) -> str:
        """Return a token as its tokenizer names it."""
        (name,) = self._tokens(self._ids_of([token]))
        return name

    def _first_scores(self, text: str, answer: tuple[str, ...], changes: Interventions | None) -> Tensor:
        of, known = self._known_first
        scores = known.get(tuple(changes.heads)) if changes and of == (text, answer, self._versions) else None
        if scores is not None:
            return scores
        reading = self._reading(text, answer)
        with self._changed(changes), evaluating(self.model):
            return self._forward(reading, 1).logits[0, reading.n_given].detach().float()  # [vocab]

    def _ids_of(self, metric: Sequence[str]) -> list[int]:
        return [token_id(self.tokenizer, each, self.model.config.vocab_size) for each in metric]

    def _judged_apart(
        self, text: str, answer: tuple[str, ...], changes: Sequence[HeadChange]
    ) -> list[_Apart]:
        reading = self._reading(text, answer)
        of = (text, answer, self._versions, len(self._measured_ids))
        if self._known_apart is None or self._known_apart[0] != of:

            def run(n_rows: int) -> Any:
                return self._forward(reading, n_rows, use_cache=False)

            self._known_apart = (of, BatchedRuns(self.model, run), {})
        _, runs, known = self._known_apart
        missing = [change for change in changes if change not in known]
        for change, output in zip(missing, runs.outputs(self._numbered(missing)), strict=True):
            logits = output.logits[0].detach()  # [position, vocab]
            scores = logits[reading.n_given, self._measured_ids].double().cpu().numpy()
            known[change] = _Apart(log_probs_of(logits, reading.written), scores)
        return [known[change] for change in changes]

    def _forward(self, reading: _Reading, n_rows: int, **options: Any) -> Any:
        given = {name: ids.expand(n_rows, -1) for name, ids in reading.given.items()}
        with attention_implementation(self.model, "eager"):
            return self.model(**given, return_dict=True, **options)

    def _answers_apart(
        self,
        text: str,
        answer: tuple[str, ...],
        reading: _Reading,
        logits: Tensor,
        changes: Sequence[HeadChange],
    ) -> list[tuple[str, ...]]:
        """Return what greedy search writes under each change.

        Where each word of the unchanged answer is still the likeliest after those before it, the
        search finds that answer again, and need not run.

        Args:
            logits: after the unchanged answer, [change, position, vocab].
        """
        written = torch.tensor(reading.written[reading.n_given :], device=logits.device)
        same = (logits[:, reading.n_given :].argmax(-1) == written).all(-1)  # [change]
        if not self._is_plain_search:
            same = torch.zeros_like(same)
        others = [change for change, is_same in zip(changes, same.tolist(), strict=True) if not is_same]
        if not others:
            return [answer] * len(changes)
        with scaled_by_row(self.model, self._numbered(others)):
            searched = iter(self._search(self._read(text), len(others)))
        return [answer if is_same else next(searched) for is_same in same.tolist()]

    @property
    def _versions(self) -> list[int]:
        """A count for each parameter, which training raises."""
        return [parameter._version for parameter in self.model.parameters()]

    @property
    def _is_plain_search(self) -> bool:
        """Whether greedy search takes the likeliest token each time: no setting forbids or weighs some."""
        settings = set(self.model.generation_config.to_diff_dict())
        return settings <= _HARMLESS_SETTINGS

    def _reading(self, text: str, answer: tuple[str, ...]) -> _Reading:
        """Return what the model reads, of the text and an answer, to judge the answer."""
        read = self._read(text)
        ids: list[int] = self.tokenizer.convert_tokens_to_ids(list(answer))
        if self.task == "translate":
            whole = [self._start, *ids, *self._end_after(len(ids))]
            given = {"input_ids": self._tensor(read), "decoder_input_ids": self._tensor(whole[:-1])}
            return _Reading(given, whole, 0, self.shown(self._tokens(read)))
        begin = read[: self._n_special(read)]
        n_given = len(read) - len(begin)
        whole = [*begin, *ids, *self._end_after(len(ids) - n_given)]
        return _Reading({"input_ids": self._tensor(whole[:-1])}, whole, len(read) - 1, None)

    def _judged(self, reading: _Reading, output: Any, row: int) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return one row's trace and log-probabilities."""
        read = self.shown(self._tokens(reading.whole[:-1]))
        trace = capture(output, source_tokens=reading.source, target_tokens=read, batch_index=row)
        return (
            replace(trace, output_tokens=self.shown(self._tokens(reading.written))),
            log_probs_of(output.logits[row].detach(), reading.written),
        )

    def _read(self, text: str) -> list[int]:
        """Return the ids that the model reads before it writes.

        Raises:
            UserError: if there are none, or too many.
        """
        ids = list(self.tokenizer(text)["input_ids"])
        if self.task == "continue" and ids and ids[-1] in self._ends:
            ids.pop()  # some tokenizers end every text, and this one goes on
        if self._n_special(ids) == len(ids):
            raise UserError(f"the text {text!r:.40} has no token; give some words")
        room = getattr(self.model.config, "max_position_embeddings", None)
        needed = len(ids) + (self.max_new_tokens if self.task == "continue" else 0)
        if room is not None and needed > room:
            raise UserError(
                f"the text has {len(ids)} tokens and {self.max_new_tokens} may be written, but the model "
                f"has {room} positions; give a shorter text, or a smaller max_new_tokens"
            )
        return ids

    def _changed(self, changes: Interventions | None) -> Any:
        return interventions(self.model, self._numbered((changes or UNCHANGED).heads))

    def _numbered(self, changes: Sequence[HeadChange]) -> list[HeadChange]:
        """Return changes with the model's own numbers of layers: a lab counts those that attend."""
        layers = [(site.kind, site.layer) for site in find_sites(self.model)]

        def number(change: HeadChange) -> int:
            of_kind = [layer for kind, layer in layers if kind == change.kind]
            return of_kind[change.layer] if change.layer < len(of_kind) else change.layer

        return [replace(change, layer=number(change)) for change in changes]

    @cached_property
    def _words(self) -> Words:
        """The tokenizer's words, by id."""
        n_words = self.model.get_output_embeddings().weight.shape[0]
        return words_of(self.tokenizer, n_words, self._ends)

    def _tensor(self, ids: list[int]) -> Tensor:
        return torch.tensor([ids], device=self.model.device)  # [1, position]

    def _n_special(self, ids: list[int]) -> int:
        """Return how many special tokens a text begins with."""
        special = set(self.tokenizer.all_special_ids)
        return next((i for i, token in enumerate(ids) if token not in special), len(ids))

    @property
    def _start(self) -> int:
        """The id that the decoder of an encoder–decoder reads first."""
        settings = self.model.generation_config
        start = settings.decoder_start_token_id
        return settings.bos_token_id if start is None else start

    @property
    def _ends(self) -> list[int]:
        """The ids that end a text."""
        end = self.model.generation_config.eos_token_id
        return [] if end is None else list(end) if isinstance(end, list) else [end]

    def _end_after(self, n_written: int) -> list[int]:
        """Return the id that ends an answer, if the model wrote it: only then it wrote fewer."""
        return self._ends[:1] if n_written < self.max_new_tokens else []


def is_huggingface(model: Any) -> bool:
    """Tell Hugging Face's models by their configuration, without importing the library."""
    return isinstance(model, nn.Module) and hasattr(getattr(model, "config", None), "is_encoder_decoder")


def _batches(changes: Sequence[HeadChange], n_positions: int) -> Iterator[Sequence[HeadChange]]:
    """Yield changes that one run can take."""
    size = max(1, MOST_POSITIONS // n_positions)
    for start in range(0, len(changes), size):
        yield changes[start : start + size]
