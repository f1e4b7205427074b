// The replies of the model: one request at a time, and what is patched comes before the rest of a grid.

import { canonicalJson, type connectKernel } from "../base/kernel.ts";
import type { Picture, Place } from "./grids.ts";

export type Request = { what: Picture; layer?: number; patches?: Place[] };

/** What is patched: the metric, the likeliest words now and before, and how far the stream has moved. */
export interface Patched {
  value: number;
  words: string[];
  shares: number[];
  before: number[];
  /** float16 [layer + 1, position] */
  moved: DataView;
}

const LEAST = 4; // layers of which it is told how many are done

/** `want(requests)` asks for the first that is missing; `onNews` is called when it comes, or does not. */
export function createReplies(kernel: Pick<ReturnType<typeof connectKernel>, "settle">, onNews: () => void) {
  const known = new Map<string, unknown>();
  const failures = new Map<string, string>();
  let pending: string | null = null;

  const isSettled = (request: Request) => {
    const asked = canonicalJson(request);
    return known.has(asked) || failures.has(asked);
  };

  /** Fetch a reply; return whether it is here at once. */
  function fetch(request: Request, told: string): boolean {
    const asked = canonicalJson(request);
    pending = asked;
    const settled = ({ reply, error }: { reply?: unknown; error?: Error }) => {
      if (pending === asked) pending = null;
      if (error) failures.set(asked, error.message);
      else known.set(asked, reply);
    };
    return kernel.settle(request, settled, onNews, told);
  }

  function want(requests: readonly Request[]): void {
    const layers = requests.filter(({ layer }) => layer !== undefined);
    const done = () => layers.filter(isSettled).length;
    const told = () => (layers.length < LEAST ? "" : `Patching layers: ${done()} of ${layers.length}.`);
    let next = requests.find((request) => !isSettled(request));
    while (next && pending !== canonicalJson(next) && fetch(next, next.layer === undefined ? "" : told()))
      next = requests.find((request) => !isSettled(request));
  }

  return {
    want,
    get: <Reply>(request: Request) => known.get(canonicalJson(request)) as Reply | undefined,
    /** Why something is not there. */
    failure: (request: Request) => failures.get(canonicalJson(request)) ?? "",
  };
}
