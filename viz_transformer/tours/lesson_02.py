"""Tour of lesson 2: the tokens whose vectors are most alike."""

from __future__ import annotations

from matplotlib.figure import Figure

from viz_transformer.analysis.cosine_similarity import nearest
from viz_transformer.plots import plot_nearest
from viz_transformer.translator import load_translator
from viz_transformer.widgets.figure_lab import figure_lab
from viz_transformer.widgets.tour import Tour

_SLIDES = {
    "tired": "Nearest to “tired” are other words for how someone feels: “hungry”, “scared”, “sick”.",
    "eats": (
        "Those of “eats” begin with other forms of the same verb. The model learned this from "
        "sentences alone."
    ),
    "maestra": "“maestra” and “profesora” both mean a female teacher: their vectors nearly agree.",
    "negro": "Nearest to “negro” are the other forms of the word: “negra”, “negras”, “negros”.",
    "Paris": "Not every neighbour makes sense. The nearest to “Paris” is “spiders”.",
}


def make() -> Tour:
    """Return the tour: neighbours of five words in the bundled translator's embedding table."""
    translator = load_translator()
    table = translator.model.source_embedding.weight.detach().numpy()  # [token, d_model]
    tokens = translator.vocabulary.tokens

    def draw(word: str) -> Figure:
        near = nearest(table, tokens.index(word))
        figure = plot_nearest(
            word, [tokens[each.index] for each in near], [each.cosine for each in near]
        ).figure
        assert isinstance(figure, Figure)
        return figure

    view = figure_lab(draw, {"word": list(_SLIDES)}, about="The tokens whose vectors are most like a word's.")
    return Tour(
        view,
        [{"caption": caption, "state": {"places": [at]}} for at, caption in enumerate(_SLIDES.values())],
    )
