"""Firefox: exported pages, the site, and JupyterLab; nothing that it or a page asks for gets out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest

import viz_transformer as vt
from tests.support.firefox import Firefox, FirefoxLab, Tab
from tests.support.hand_made_traces import make_trace
from tests.support.ui_jupyterlab import LabServer
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import ELSEWHERE_ASKED, LAPTOP, PHONE, kernels_find_this_clone
from viz_transformer.export.site import write_site
from viz_transformer.model import HeadChange, Interventions

SENTENCE = "the cow did not cross the street because it was too tired"

FIRST = r"""# 1 · Which word is looked at

**The question:** which one?

Each row of weights, $\mathrm{softmax}(x)$, sums to 1.

$$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
"""
PREDICT = """
import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
trace = make_trace()
vt.predict_choice("Which word?", ["gato", "negro"], "gato", reveal=lambda: vt.explore(trace), name="1.p1")
"""
TRANSLATE = "import viz_transformer as vt\nvt.translation_lab(vt.load_translator(), 'the cat sleeps')"


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """Return the Firefox of a reader who prefers dark pages."""
    with Firefox(tmp_path_factory.mktemp("firefox"), "dark") as firefox:
        yield firefox


@pytest.fixture
def tab(firefox: Firefox) -> Iterator[Tab]:
    """Return a tab held to this machine, and without an error at its end."""
    tab = firefox.new_page(LAPTOP)
    yield tab
    tab.close()
    assert firefox.asked == [], ELSEWHERE_ASKED
    assert tab.errors == []


def wait_until_drawn(tab: Tab, selector: str) -> None:
    """Wait until a view shows what was last asked of it."""
    tab.wait_for_function(
        """async (selector) => {
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const { vtDrawn = 0, stale } = document.querySelector(selector)?.dataset ?? {};
            return vtDrawn > 0 && stale !== "true";
        }""",
        selector,
    )


def check_it_fits(tab: Tab, name: str, root: str = "body") -> None:
    """Hold a page to fit a phone and a laptop, in which it is left."""
    for size in (PHONE, LAPTOP):
        tab.set_viewport_size(size)
        if root != "body":
            wait_until_drawn(tab, root)
        assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"], name


@pytest.mark.slow
def test_requests_to_other_machines_are_refused_and_counted(firefox: Firefox, tmp_path: Path) -> None:
    assert firefox.asked == []
    (tmp_path / "page.html").write_text("<title>asks</title>", encoding="utf-8")
    tab = firefox.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    asks = "fetch('https://example.org/', { mode: 'no-cors' }).then(() => 'answered', () => 'refused')"
    assert tab.evaluate(asks) == "refused"
    assert set(firefox.asked) == {"CONNECT example.org:443 HTTP/1.1"}
    firefox.asked.clear()
    tab.close()


@pytest.mark.slow
def test_the_views_of_an_exported_page_work(tab: Tab, translator: vt.Translator, tmp_path: Path) -> None:
    views = [vt.explore(make_trace()), vt.beam_stepper(translator, "the cat sleeps")]
    tab.goto(vt.export_html(views, tmp_path / "page.html", title="Both").as_uri())
    wait_until_drawn(tab, ".vt-explorer")
    assert tab.texts(".vt-explorer .vt-title") == ["Cross-attention · layer 0 · head 0"]
    tab.evaluate("document.querySelector('.vt-heads canvas').focus()")
    tab.press("ArrowDown", "ArrowRight", "ArrowRight")
    tab.wait_for_text(".vt-explorer .vt-title", "Cross-attention · layer 1 · head 2")

    stepper = ".vt-beam-stepper"
    wait_until_drawn(tab, stepper)
    tab.click(f"{stepper} .vt-pencil")
    tab.fill(f"{stepper} input[type=text]", SENTENCE)
    tab.press("Enter")
    best = translator.decode(SENTENCE).hypotheses[0]
    tab.wait_for_text(f"{stepper} .vt-headline", f"{' '.join(best.tokens)} wins")
    shown = tab.texts(f"{stepper} .vt-way[aria-pressed='true'] .vt-log-prob")[0]
    assert float(shown.removeprefix("log P ").replace("−", "-")) == pytest.approx(best.log_prob, abs=0.00051)


@pytest.mark.slow
def test_switching_a_head_off_in_the_page_changes_it_in_python(
    tab: Tab, translator: vt.Translator, tmp_path: Path
) -> None:
    tab.set_viewport_size(PHONE)
    tab.goto(vt.export_html(vt.head_lab(translator, SENTENCE), tmp_path / "page.html").as_uri())
    lab = ".vt-head-lab"
    wait_until_drawn(tab, lab)
    assert tab.evaluate(f"document.querySelector('{lab}').dataset.theme") == "dark"
    for _ in range(2):  # chosen, then switched off
        tab.click(f"{lab} .vt-head-grid [aria-label^='encoder layer 1 head 1, ']")
        wait_until_drawn(tab, lab)
    off = Interventions(heads=[HeadChange(kind="encoder", layer=1, head=1, factor=0)])
    after = translator.log_probs(SENTENCE, translator.translate(SENTENCE).tokens, off)
    shown = [text.rsplit("now ", 1)[1] for text in tab.texts(f"{lab} .vt-losses [role=img] > title")]
    np.testing.assert_allclose([float(text) for text in shown], -after, atol=0.00051)
    words = tab.texts(f"{lab} .vt-written .vt-word")
    assert words == [*translator.translate(SENTENCE, interventions=off).tokens, "<eos>"]


@pytest.mark.weekly
def test_every_view_is_drawn_and_fits(tab: Tab, tmp_path: Path) -> None:
    for name, make in EVERY_VIEW.items():
        tab.goto(vt.export_html(make(), tmp_path / "page.html", title=name).as_uri())
        wait_until_drawn(tab, "[data-vt-drawn]")
        check_it_fits(tab, name, "[data-vt-drawn]")
        assert tab.errors == [], name


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, translator: vt.Translator) -> Path:
    """The first page of a site of two notebooks and a studio."""
    folder = tmp_path_factory.mktemp("site")
    for name, text, code in (("01_first", FIRST, PREDICT), ("02_second", "# 2 · Second", TRANSLATE)):
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(code)],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with kernels_find_this_clone():
        studio, notebooks = vt.studio(translator, "the cat sleeps"), sorted(folder.glob("*.ipynb"))
        return write_site(notebooks, folder / "site", title="A course", studio=studio)


@pytest.mark.weekly
def test_the_studio_of_the_site_reads_a_sentence(tab: Tab, site: Path, translator: vt.Translator) -> None:
    tab.goto(site.as_uri())
    tab.click("a[href='studio.html']")
    tab.wait_for_text("h1", "The studio")
    check_it_fits(tab, "studio", ".vt-studio .vt-explorer")
    tab.click(".vt-studio .vt-pencil")
    tab.fill(".vt-studio input[type=text]", SENTENCE)
    tab.press("Enter")
    tab.wait_for_text(".vt-studio .vt-header", translator.translate(SENTENCE).tokens[-1])
    tab.click(".vt-studio [data-room=model]")
    wait_until_drawn(tab, ".vt-studio .vt-architecture")
    tab.wait_for_text(".vt-studio .vt-architecture", "street")


@pytest.mark.weekly
def test_every_lesson_of_the_site_is_reached_in_order(
    tab: Tab, site: Path, translator: vt.Translator
) -> None:
    tab.goto(site.as_uri())
    check_it_fits(tab, "contents")
    assert [text.replace("\n", " · ") for text in tab.texts(".vt-lessons a")] == [
        "1 · Which word is looked at",
        "2 · Second",
    ]
    tab.click(".vt-lessons a")
    tab.wait_for_text("h1", "1 · Which word is looked at")
    answers = ".vt-prediction .vt-answers button"
    tab.wait_for_function(f"document.querySelectorAll('{answers}').length === 2")
    check_it_fits(tab, "first lesson")
    inline, shown = tab.evaluate(
        "[...document.querySelectorAll('math')].map((math) => math.getBoundingClientRect().height)"
    )
    assert 5 < inline < shown / 1.5
    above, below = tab.evaluate(
        "[...document.querySelector('mfrac').children].map((part) => part.getBoundingClientRect().y)"
    )
    assert below > above + 5
    tab.click(f"{answers}:nth-of-type(2)")
    tab.wait_for_text(".vt-prediction [role=status]", "You said negro. The answer is gato.")
    wait_until_drawn(tab, ".vt-prediction .vt-explorer")

    tab.click(".vt-way-on a")
    tab.wait_for_text("h1", "2 · Second")
    wait_until_drawn(tab, ".vt-translation-lab")
    tab.click(".vt-translation-lab .vt-pencil")
    tab.fill(".vt-translation-lab input[type=text]", SENTENCE)
    tab.press("Enter")
    tab.wait_for_text(".vt-translation-lab", translator.translate(SENTENCE).text)
    tab.evaluate("document.querySelector('.vt-way-on').scrollIntoView()")  # it was read to its end
    tab.wait_for_function("Object.keys(localStorage).some((key) => key.endsWith('/02_second'))")
    tab.click(".vt-site-bar a")
    tab.wait_for_text("h1", "A course")
    tab.wait_for_function("document.querySelectorAll('.vt-done')[1]?.textContent === '✓ read'")
    assert tab.texts(".vt-done") == ["1 of 1 answered · ✓ read", "✓ read"]

    tab.fill("input[type=search]", "WÉIGHTS")  # whatever the case and the accents
    tab.wait_for_text(".vt-found mark", "weights")
    tab.click(".vt-found a")
    tab.wait_for_text("h1", "1 · Which word is looked at")
    tab.wait_for_text(".vt-prediction [role=status]", "You said negro. The answer is gato.")  # it is kept


@pytest.mark.slow
def test_in_jupyterlab_a_view_and_the_kernel_are_linked(tab: Tab, lab_server: LabServer) -> None:
    lab = FirefoxLab(tab, lab_server)
    heads, title = ".vt-explorer .vt-heads canvas", ".vt-explorer .vt-title"
    lab.open_cells(
        "import viz_transformer as vt\n"
        "view = vt.explore(vt.load_translator().trace('the black cat sleeps'), kind='encoder', layer=1)\n"
        "view"
    )
    lab.run_all()
    wait_until_drawn(tab, ".vt-explorer")
    assert tab.texts(title) == ["Encoder self-attention · layer 1 · head 0"]
    tab.click(heads, 0.889, 0.7)  # a head of the last layer, of cross-attention
    lab.wait_for_value("(view.kind, view.layer, view.head)", ("cross", 1, 2))
    tab.wait_for_text(title, "Cross-attention · layer 1 · head 2")
    lab.run("view.head = 1")
    tab.wait_for_text(title, "Cross-attention · layer 1 · head 1")
    lab_server.reset()
