"""Arguments of the figures that are of a wrong type: one line, whichever function and argument it is."""

from __future__ import annotations

import inspect
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError

WEIGHTS = np.tril(np.ones((2, 2, 4, 4))) / np.arange(1, 5)[:, None]  # [layer, head, query, key]
TRACE = vt.capture(WEIGHTS, tokens=["the", "ca", "##t", "runs"], words=[0, 1, 1, 2])
CALLS: dict[str, dict[str, Any]] = {
    "plot_head": {"trace": TRACE, "kind": "decoder", "layer": 0, "head": 1},
    "plot_aggregate": {"trace": TRACE, "kind": "decoder", "heads": [[0, 1], [1, 1]]},
    "plot_cached_step": {"trace": TRACE, "step": 2},
    "plot_difference": {"trace": TRACE, "other": TRACE, "kind": "decoder", "layer": 1, "head": 0},
    "plot_heads": {"trace": TRACE, "kind": "decoder"},
    "plot_patches": {"trace": TRACE, "kind": "decoder", "layer": 0, "head": 0, "query": 1, "grid": (2, 2)},
    "plot_curves": {"curves": {"loss": [3, 2.5, np.nan]}, "title": "training"},
    "plot_probabilities": {"probabilities": {"el gato": 0.7, "la gata": 0.3}},
    "plot_likeness": {"matrix": np.eye(2), "names": ["a", "b"]},
    "plot_reliability": {"predicted": [0.2, 0.7], "happened": [False, True]},
    "plot_mask": {"mask": np.eye(2, dtype=bool)},
    "plot_leaks": {"changes": [0.0, 1.0], "allowed": [True, False], "queries": ["a", "b"]},
    "plot_softmax": {"scores": [1.0, 2.0]},
}
WRONG = ["x", b"x", 2.5, -1, 99, 10**30, None, True, [], [None], [["a"]], [[1]], {}, {"a": "b"}, float("nan")]
WRONG += [object(), len, np.array(["a"]), np.zeros((2, 2)), plt.Figure()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_given_is_drawn_or_refused(name) -> None:
    plot, given = getattr(vt.plots, name), CALLS[name]
    assert plot(**given)
    for argument in inspect.signature(plot).parameters:
        for wrong in WRONG:
            try:
                plot(**{**given, argument: wrong})
            except UserError:  # a line, whatever it is made of
                pass
            except Exception as error:
                raise AssertionError(f"{argument}={wrong!r}: {error!r}") from error
            finally:
                plt.close("all")


def test_the_line_names_the_argument_and_says_what_to_give() -> None:
    rows = [
        ("plot_head", {"threshold": "x"}, "^threshold='x'; give a number$"),
        ("plot_head", {"threshold": 1.5}, "^threshold=1.5; give a share from 0 to 1$"),
        ("plot_aggregate", {"threshold": np.nan}, "^threshold=nan; give a share from 0 to 1$"),
        ("plot_difference", {"threshold": True}, "^threshold=True; give a number$"),
        ("plot_head", {"ax": "x"}, r"^ax='x'; give axes of matplotlib, such as plt.subplots\(\)\[1\]"),
        ("plot_heads", {"ax": plt.Figure()}, "^ax=<Figure .*; give axes of matplotlib"),
        ("plot_curves", {"ax": 1}, "^ax=1; give axes of matplotlib"),
        ("plot_head", {"trace": WEIGHTS}, r"^trace=.*; give a trace, which vt.capture\(...\) makes$"),
        ("plot_aggregate", {"compare": "x"}, r"^compare='x'; give a trace"),
        ("plot_head", {"layer": True}, "^layer=True; give a whole number$"),
        ("plot_patches", {"head": 0.0}, "^head=0.0; give a whole number$"),
        ("plot_head", {"merge_words": 1}, "^merge_words=1; give True or False$"),
        ("plot_aggregate", {"heads": [[0, 1], [1]]}, r"^heads=.*; give \[layer, head\] pairs"),
        ("plot_aggregate", {"heads": "01"}, r"^heads='01'; give a list of \[layer, head\] pairs: \[\["),
        (
            "plot_probabilities",
            {"probabilities": {"a": "b"}},
            r"give what its type says: Mapping\[str, float",
        ),
        ("plot_curves", {"title": 5}, r"^title=5; give a text in quotation marks$"),
    ]
    assert_refused(
        (lambda name=name, given=given: getattr(vt.plots, name)(**{**CALLS[name], **given}), said)
        for name, given, said in rows
    )
    with pytest.raises(TypeError, match=r"plot_head\(\) missing"):
        vt.plots.plot_head(TRACE)


def test_numbers_of_numpy_and_torch_are_numbers() -> None:
    rows = [
        ("plot_head", {"layer": np.int64(1), "head": torch.tensor(1), "threshold": np.float32(0.5)}),
        ("plot_head", {"hide_special": np.True_, "threshold": torch.tensor(0.5)}),
        ("plot_aggregate", {"heads": np.array([[0, 1], [1, 0]])}),
        ("plot_leaks", {"allowed": torch.tensor([True, False]), "changes": np.ones(2)}),
        ("plot_curves", {"curves": {"loss": torch.arange(3.0)}, "x": np.arange(3)}),
    ]
    for name, given in rows:
        assert getattr(vt.plots, name)(**{**CALLS[name], **given}), given
    plt.close("all")
