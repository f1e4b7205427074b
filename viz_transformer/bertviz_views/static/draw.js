// The page's own script: it passes each drawing's data to bertviz and fits the picture to the page.

/**
 * One kind of attention, as Python's `Drawing.data` writes it.
 * @typedef {{name: string, left: string[], right: string[], weights: string}} KindData
 *
 * One run of bertviz's script.
 * @typedef {{layers: number[], heads: number[], totalHeads: number, kinds: KindData[]}} DrawingData
 */
{
  const { jQuery, d3 } = /** @type {any} */ (globalThis);
  const MANY_LINES = 400_000; // about where a browser freezes for ten seconds
  const MOST_CHARACTERS = 48;
  const view = document.documentElement.dataset.view;
  const mode = document.documentElement.dataset.mode;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  /** @type {DrawingData[]} */
  const drawings = JSON.parse(document.getElementById("data").textContent);

  /**
   * The weights as bertviz takes them, `[layer][head][query][key]`.
   * @param {string} text base64 of little-endian float32
   * @param {number[]} sizes
   */
  function nested(text, sizes) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const weights = new DataView(bytes.buffer);
    let offset = 0;
    /** @type {(sizes: number[]) => any[]} */
    const take = (sizes) =>
      Array.from({ length: sizes[0] }, () => {
        if (sizes.length > 1) return take(sizes.slice(1));
        offset += 4;
        return weights.getFloat32(offset - 4, true);
      });
    return take(sizes);
  }

  /**
   * A token, cut short where it would push the picture out of sight.
   * @param {string} token
   */
  function shortened(token) {
    const characters = [...token];
    if (characters.length <= MOST_CHARACTERS) return token;
    return `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
  }

  /**
   * The parameters of bertviz's script.
   * @param {DrawingData} drawing
   * @param {string} id of the element to draw in
   */
  function parameters(drawing, id) {
    const { layers, heads, totalHeads, kinds } = drawing;
    return {
      attention: kinds.map(({ name, left, right, weights }) => ({
        name,
        left_text: left.map(shortened),
        right_text: right.map(shortened),
        attn: nested(weights, [layers.length, heads.length, left.length, right.length]),
      })),
      default_filter: "0",
      root_div_id: id,
      layer: null,
      heads: null, // in the head view those that are on at first: all
      include_layers: layers,
      include_heads: heads,
      total_heads: totalHeads,
      display_mode: mode === "auto" ? (prefersDark.matches ? "dark" : "light") : mode,
    };
  }

  /**
   * Make room for long tokens on the left, and let a wide picture shrink to a narrow page.
   * @param {SVGSVGElement} svg
   */
  function fit(svg) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", document.title);
    if (view === "model_view") {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
      return;
    }
    const left = /** @type {SVGGraphicsElement} */ (svg.querySelector("#left"));
    const outside = -left.getBBox().x;
    if (outside <= 0) return;
    svg.style.marginLeft = `${outside}px`;
    svg.style.width = `calc(100% - ${outside}px)`;
  }

  /**
   * How many lines bertviz draws before the page responds again.
   * @param {DrawingData} drawing
   */
  function linesAtOnce({ layers, heads, kinds }) {
    const most = Math.max(...kinds.map(({ left, right }) => left.length * right.length));
    return most * heads.length * (view === "model_view" ? layers.length : 1);
  }

  /**
   * Draw now, or ask first where there are very many lines.
   * @param {HTMLElement} section
   * @param {DrawingData} drawing
   */
  function draw(section, drawing) {
    const blank = section.querySelector(".bertviz");
    const show = () => {
      const root = /** @type {HTMLElement} */ (blank.cloneNode(true));
      section.querySelector(".bertviz").replaceWith(root);
      const place = root.querySelector("#vis");
      new MutationObserver(() => {
        if (place.firstElementChild) fit(/** @type {SVGSVGElement} */ (place.firstElementChild));
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
      section.append(`bertviz could not draw this: ${/** @type {Error} */ (error).message}`);
      throw error;
    }
  });
}
