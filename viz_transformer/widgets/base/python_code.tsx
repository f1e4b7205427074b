// Python in the inspector: lines of code, and *Copy as Python*, the lines that make a view once more.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Model } from "./kernel.ts";
import { linesOf, type Made } from "./made.ts";

export function CopyCode({ model }: { model: Pick<Model, "get"> }) {
  const lines = useRef<HTMLPreElement>(null);
  const [told, setTold] = useState("");
  const made: Made | undefined = model.get("made");
  useLayoutEffect(() => {
    if (told && lines.current) getSelection()?.selectAllChildren(lines.current);
  }, [told]);
  if (!made?.by) return null;
  const text = linesOf(made, model.get).join("\n");
  const copy = () => {
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject();
    copied.then(
      () => setTold("Copied."),
      () => setTold("Marked."), // where a page may not copy by itself
    );
  };
  return (
    <div class="vt-copy">
      <button type="button" class="vt-button" onClick={copy}>
        Copy as Python
      </button>{" "}
      <span aria-live="polite">{told}</span>
      {told && (
        <pre class="vt-code" ref={lines}>
          {text}
        </pre>
      )}
    </div>
  );
}

export const Code = ({ lines }: { lines: readonly string[] }) => (
  <pre class="vt-code">{lines.join("\n")}</pre>
);
