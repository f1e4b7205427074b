// Curves and what flows along them, on a canvas.

import { type Curve, pointOf } from "./columns.ts";

const DOTS = 3; // that flow along a curve
const SHORT = 44; // pixels of a curve on which there is room for one

/** Draw a curve. */
export function strokeCurve(
  context: CanvasRenderingContext2D,
  [x0, y0, x1, y1, x2, y2, x3, y3]: Curve,
  colour: string,
  width: number,
): void {
  [context.strokeStyle, context.lineWidth] = [colour, width];
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  context.stroke();
}

/** Draw dots on their way along a curve; `share` of the way is done. */
export function drawDots(
  context: CanvasRenderingContext2D,
  curve: Curve,
  share: number,
  { colour, radius, isTurned = false }: { colour: string; radius: number; isTurned?: boolean },
): void {
  const count = Math.hypot(curve[6] - curve[0], curve[7] - curve[1]) < SHORT ? 1 : DOTS;
  context.fillStyle = colour;
  for (let dot = 0; dot < count; dot++) {
    const t = share * (1 + (count - 1) * 0.15) - dot * 0.15;
    if (t < 0 || t > 1) continue;
    const [x, y] = pointOf(curve, isTurned ? 1 - t : t);
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
  }
}
