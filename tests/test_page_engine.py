"""The engine behind a view: when a page carries the model, and that it carries it once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import viz_transformer as vt
from tests.support.small_models import small_config
from viz_transformer._files import bundled
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Subwords
from viz_transformer.widgets.base import live as page_engine
from viz_transformer.widgets.base.live import give_engine, page_model
from viz_transformer.widgets.base.view import View


class Asking(View):
    """A view that would ask one thing."""

    _esm = "export default { render() {} }"

    def questions(self) -> list[dict]:
        return [{"n": 1}]

    def alt_text(self) -> str:
        return "a view"


def subword_translator() -> Translator:
    words = Subwords.train(["the cat sleeps", "the dog sees the cat"], 300)
    return Translator(Transformer(small_config(vocab_size=len(words))), words)


def asking() -> Asking:
    return Asking(answer=lambda request: {"n": request["n"] + 1})


def test_a_small_model_goes_into_the_page_and_none_where_the_kernel_is_asked_for(
    translator: Translator,
) -> None:
    view = give_engine(asking(), "head_lab", translator, context={"n": 3})
    assert view.engine["lab"] == "head_lab"
    assert view.engine["context"] == {"n": 3}
    assert view.engine["models"][""].weights
    assert give_engine(asking(), "head_lab", translator, "page").engine
    assert give_engine(asking(), "head_lab", translator, "kernel").engine == {}


def test_the_page_holds_the_very_files_of_the_checkpoint_and_tells_models_apart(
    translator: Translator,
) -> None:
    carried = page_model(translator)
    assert json.loads(carried.config) == json.loads(bundled("data/en-es/config.json").read_text())
    assert carried.weights == bundled("data/en-es/model.safetensors").read_bytes()
    assert page_model(translator) is carried
    other = vt.load_translator()
    next(other.model.parameters()).data[0, 0] += 1
    assert page_model(other).digest != carried.digest


def test_models_that_the_page_cannot_run_stay_in_the_kernel_with_a_reason(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def assert_kernel(model: Translator, why: str, engine: str = "page") -> None:
        assert give_engine(asking(), "head_lab", model).engine == {}
        with pytest.raises(UserError, match=why):
            give_engine(asking(), "head_lab", model, engine)

    assert_kernel(subword_translator(), r"subwords.*engine='kernel'")
    monkeypatch.setattr(page_engine, "MAX_BYTES", 100_000)
    assert_kernel(translator, r"0\.9 MB, and a page carries at most 0\.1 MB")
    assert_kernel(translator, "'page', 'kernel' or None", "gpu")


def test_an_exported_page_holds_the_model_once_and_no_replies(translator: Translator, tmp_path: Path) -> None:
    views = [give_engine(asking(), "head_lab", translator) for _ in range(3)]
    page = vt.export_html(views, tmp_path / "page.html").read_text()
    written = re.search(r'<script type="application/json" id="vt-page">(.*?)</script>', page, re.DOTALL)
    assert written
    states = [each["state"] for each in json.loads(written[1])["views"]]
    carriers = [number for number, state in enumerate(states) if "weights" in state]
    assert len(carriers) == 1
    asked = [state for state in states if state.get("engine", {}).get("lab")]
    assert [state["engine"]["models"] for state in asked] == [{"": f"IPY_MODEL_{carriers[0]}"}] * 3
    assert not any("answers" in state for state in states)


def test_without_an_engine_a_page_carries_replies(tmp_path: Path) -> None:
    page = vt.export_html([asking()], tmp_path / "page.html").read_text()
    assert '"answers":[[{"n":1},{"n":2}]]' in page
