"""Work that a page waits for says how far it is, and ends between two parts once the viewer stops it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from torch import nn

import viz_transformer as vt
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.huggingface_models import frozen, same, state
from viz_transformer import _work as work
from viz_transformer.widgets.base.view import View

TEXT = "the cat sleeps"
RANKING = {"sentence": TEXT, "each": 0.0}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(TEXT)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> nn.Module:
    return gpt2(len(tokenizer)).eval()


@pytest.fixture(scope="module")
def lab(model: nn.Module, tokenizer: Any) -> View:
    return vt.head_lab(model, TEXT, tokenizer=tokenizer, max_new_tokens=3)


@pytest.fixture
def sent(lab: View, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the view sends to its page."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(View, "send", lambda _, content, __=None: messages.append(content))
    monkeypatch.setattr(work, "_PAUSE_S", 0.0)
    return messages


def message(view: View, **content: object) -> None:
    """Have a view deal with a message of its page."""
    view._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


@pytest.fixture
def stopping(lab: View, model: nn.Module) -> Iterator[list[int]]:
    """Stops question 1 in the middle of each forward; the list counts the last modules reached."""
    reached: list[int] = []
    middle, last = model.transformer.h[0].register_forward_hook, model.transformer.ln_f.register_forward_hook
    hooks = [middle(lambda *_: message(lab, stop="1")), last(lambda *_: reached.append(1))]
    yield reached
    for hook in hooks:
        hook.remove()


def test_a_page_hears_how_far_a_work_is_and_then_gets_the_answer(
    lab: View, sent: list[dict[str, Any]]
) -> None:
    message(lab, id="1", ask={"sentence": "a longer text", "changes": []})
    *progress, last = sent
    assert {each["id"] for each in sent} == {"1"}
    assert "Writing token 2 of at most 3" in {each["words"] for each in progress}
    assert len(last["reply"]["log_probs"]) == len(last["reply"]["output"])


def test_a_stopped_work_ends_at_the_next_module_and_leaves_the_model_as_it_was(
    lab: View, model: nn.Module, sent: list[dict[str, Any]], stopping: list[int]
) -> None:
    before = frozen(model)
    message(lab, id="1", ask=RANKING | {"sentence": "another text"})
    assert sent[-1] == {"id": "1", "error": "stopped"}
    assert stopping == []
    assert same(before, state(model))
    message(lab, id="2", ask=RANKING)  # only the one that it names
    assert "reply" in sent[-1]
    assert stopping
    assert lab._works == {}


def test_a_question_that_waits_for_its_turn_is_stopped_before_it_begins(
    lab: View, sent: list[dict[str, Any]]
) -> None:
    waiting: list[Any] = []
    with mock.patch("viz_transformer.widgets.base.view.on_cell_thread", waiting.append):
        message(lab, id="1", ask=RANKING)
    message(lab, stop="1")
    with mock.patch.object(lab, "answer", side_effect=AssertionError):
        for turn in waiting:
            turn()
    assert sent == [{"id": "1", "error": "stopped"}]


@pytest.mark.parametrize("name", ["9", 9, ["9"], None, {}])
def test_a_word_to_stop_what_is_not_there_does_nothing(
    lab: View, sent: list[dict[str, Any]], name: object
) -> None:
    message(lab, stop=name)
    message(lab, id=name, ask=RANKING)
    assert "reply" in sent[-1]


def test_without_a_page_nothing_is_told_and_nothing_stops() -> None:
    work.between_parts("Writing")
