// The sign of a switch, drawn: not every font has ⏻.

export function Power({ size = 20 }: { size?: number }) {
  const of = { x: -size / 2, y: -size / 2, width: size, height: size };
  return (
    <svg class="vt-power" viewBox="-10 -10 20 20" aria-hidden="true" {...of}>
      <path d="M-4.6 -5.2A7 7 0 1 0 4.6 -5.2M0 -8.5V-0.5" />
    </svg>
  );
}
