// Lines of Python in the inspector.

export const Code = ({ lines }: { lines: readonly string[] }) => (
  <pre class="vt-code">{lines.join("\n")}</pre>
);
