// Hands each drawing's data to bertviz, and makes its picture fit the page.
{
  const MANY_LINES = 400_000; // about where a browser stands still for ten seconds
  const MOST_CHARACTERS = 48;
  const view = document.documentElement.dataset.view;
  const mode = document.documentElement.dataset.mode;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const drawings = JSON.parse(document.getElementById("data").textContent);

  /** The weights as bertviz takes them, `[layer][head][query][key]`. */
  function nested(text, sizes) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const weights = new DataView(bytes.buffer);
    let at = 0;
    const take = ([size, ...rest]) =>
      Array.from({ length: size }, () => {
        if (rest.length) return take(rest);
        at += 4;
        return weights.getFloat32(at - 4, true);
      });
    return take(sizes);
  }

  /** A token that would push the picture out of sight, cut short. */
  function short(token) {
    const characters = [...token];
    if (characters.length <= MOST_CHARACTERS) return token;
    return characters.slice(0, MOST_CHARACTERS - 1).join("") + "…";
  }

  function parameters(drawing, id) {
    const { layers, heads, totalHeads, kinds } = drawing;
    return {
      attention: kinds.map(({ name, left, right, weights }) => ({
        name,
        left_text: left.map(short),
        right_text: right.map(short),
        attn: nested(weights, [layers.length, heads.length, left.length, right.length]),
      })),
      default_filter: "0",
      root_div_id: id,
      layer: null,
      heads: null, // the head view's: which are on at first; all
      include_layers: layers,
      include_heads: heads,
      total_heads: totalHeads,
      display_mode: mode === "auto" ? (prefersDark.matches ? "dark" : "light") : mode,
    };
  }

  /** Make room for long tokens on the left, and let a wide picture shrink to a narrow page. */
  function fit(svg) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", document.title);
    if (view === "model_view") {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
      return;
    }
    const outside = -svg.querySelector("#left").getBBox().x;
    if (outside <= 0) return;
    svg.style.marginLeft = `${outside}px`;
    svg.style.width = `calc(100% - ${outside}px)`;
  }

  /** How many lines bertviz draws before it lets go of the page. */
  function linesAtOnce({ layers, heads, kinds }) {
    const most = Math.max(...kinds.map(({ left, right }) => left.length * right.length));
    return most * heads.length * (view === "model_view" ? layers.length : 1);
  }

  function draw(section, drawing) {
    const blank = section.querySelector(".bertviz");
    const show = () => {
      const root = blank.cloneNode(true);
      section.querySelector(".bertviz").replaceWith(root);
      const place = root.querySelector("#vis");
      new MutationObserver(() => {
        if (place.firstElementChild) fit(place.firstElementChild);
      }).observe(place, { childList: true });
      bertviz.params = parameters(drawing, root.id);
      bertviz.draw(jQuery, d3);
      section.dataset.drawn = "true";
    };
    // The model view is drawn in the colours of one mode; the head view's are in the style sheet.
    if (view === "model_view" && mode === "auto") {
      prefersDark.addEventListener("change", () => section.dataset.drawn && show());
    }
    const n_lines = linesAtOnce(drawing);
    if (n_lines <= MANY_LINES) {
      show();
      return;
    }
    const question = section.appendChild(document.createElement("p"));
    question.append(
      `bertviz draws each weight as a line of its own. So many keep a browser busy for long; ` +
        `layers=… and heads=… in Python choose fewer. `,
    );
    const button = question.appendChild(document.createElement("button"));
    button.textContent = `Draw ${n_lines.toLocaleString("en")} lines`;
    button.addEventListener("click", () => {
      question.remove();
      show();
    });
  }

  document.querySelectorAll("section").forEach((section, i) => {
    try {
      draw(section, drawings[i]);
    } catch (error) {
      section.append(`bertviz could not draw this: ${error.message}`);
      throw error;
    }
  });
}
