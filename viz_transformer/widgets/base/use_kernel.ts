// The link of a view to what answers it, a kernel or an engine in the page: one for as long as it is shown.

import { useEffect, useMemo } from "preact/hooks";
import { connectKernel, type Model } from "./kernel.ts";

/** `ask`, `latest` and `settle` of `connectKernel`, closed when the component leaves the page. */
export function useKernel(model: Model) {
  const kernel = useMemo(() => connectKernel(model), [model]);
  useEffect(() => () => kernel.close(), [kernel]);
  return kernel;
}
