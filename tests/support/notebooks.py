"""Notebooks made by hand, whose views need no model."""

from __future__ import annotations

from pathlib import Path

import nbformat

#: Views of two kinds, one that asks a function, a lab-like box, and one hostile sentence.
CELLS = {
    "make": """
import ipywidgets
import viz_transformer as vt
from tests.support.hand_made_traces import hostile_trace, make_trace
from tests.support.javascript import bundled
from viz_transformer.widgets.base.requests import whole
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin
from viz_transformer.widgets.base.view import View
import traitlets
from matplotlib.figure import Figure


class Square(View):
    \"\"\"Asks for the square of a number; a page knows those of 0, 1 and 2.\"\"\"

    _esm = bundled('''
      import { connectKernel } from "./widgets/base/kernel.ts";
      export default {
        async render({ model, el }) {
          const node = document.createElement("button");
          node.className = "vt-root vt square";
          el.append(node);
          const kernel = connectKernel(model);
          const show = async () => {
            const asked = { n: model.get("n") };
            const reply = await kernel.ask(asked).catch((error) => ({ text: error.message }));
            node.textContent = reply.text;
          };
          model.on("change:n", show);
          node.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
          await show();
        },
      };
    ''')
    n = traitlets.Int(0).tag(sync=True)

    def requests(self):
        return ({"n": whole()},)

    def questions(self):
        return [{"n": n} for n in range(3)]

    def alt_text(self):
        return f"The square of {self.n}."

    def figure(self):
        figure = Figure(figsize=(2, 1))
        figure.text(0.5, 0.5, str(self.n**2))
        return figure


class Box(StaticFallbackMixin, ipywidgets.VBox):
    \"\"\"A box as the labs make them.\"\"\"


square = Square(answer=lambda request: {"text": f"{request['n']} squared"})
""",
    "explorer": "view = vt.explore(make_trace(), layer=1)\nview",
    "box": """
Box([
    ipywidgets.Text("the cat", description="English"),
    ipywidgets.HTML("<b>el gato</b>"),
    ipywidgets.HBox([square]),
])
""",
    "again": "square.n = 1\nsquare",
    "hostile": "vt.explore(hostile_trace(), query=0)",
    "slider": "ipywidgets.IntSlider(description='plain')",
    "text": "print('done')",
}


def write_notebook(path: Path, *cells: str) -> Path:
    """Write a notebook of these code cells, or of all of CELLS."""
    sources = cells or tuple(CELLS.values())
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)
    return path
