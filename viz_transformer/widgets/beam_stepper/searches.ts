// The results of searches: those that came with the view, those received since, and what is requested.

import { canonicalJson, type connectKernel, NEEDS_KERNEL, newestOf } from "../base/kernel.ts";
import { RecentMap } from "../base/replies.ts";
import { type Reply, type SearchRequest, type SearchResult, searchResult } from "./candidates.ts";

type Given = readonly (readonly [SearchRequest, Reply])[];

/** Results by their requests: all that came with the view, and the newest of the others. */
function knownResults() {
  const given = new Map<string, SearchResult>();
  const received: Map<string, SearchResult> = new RecentMap();
  let taken: Given | null = null;
  const add = (to: Map<string, SearchResult>, request: SearchRequest, reply: Reply) =>
    to.set(canonicalJson(request), searchResult(request, reply));
  return {
    find(request: SearchRequest): SearchResult | null {
      const key = canonicalJson(request);
      return given.get(key) ?? received.get(key) ?? null;
    },
    receive: (request: SearchRequest, reply: Reply) => add(received, request, reply),
    take(data: Given): void {
      if (data !== taken) for (const [request, reply] of data) add(given, request, reply);
      taken = data;
    },
  };
}

/**
 * The searches of a view. `take` is told those that came with it; `want` returns the result of a request, or until
 * it is here the one before it; `read` makes another text the view's when it has a result; `prepare` asks for what
 * is shown beside it.
 */
export function searches(kernel: ReturnType<typeof connectKernel>, onNews: () => void) {
  const { find, receive, take } = knownResults();
  const typed = newestOf(kernel.ask); // what was typed
  const prepared = new Set<string>();
  let shown: SearchResult | null = null;
  let asking = "";
  let failure: { key: string; message: string } | null = null; // why the settings have no result
  let refused: { key: string; message: string } | null = null; // why a typed text has none

  function ask(request: SearchRequest, key: string): void {
    asking = key;
    const keep = ({ reply, error }: { reply?: Reply; error?: Error }) => {
      if (asking === key) asking = "";
      if (error) failure = { key, message: error.message };
      else if (reply) receive(request, reply);
    };
    kernel.settle(request, keep, onNews);
  }

  function want(request: SearchRequest) {
    const key = canonicalJson(request);
    if (refused?.key !== key) refused = null;
    if (failure && (find(request) || failure.key !== key)) failure = null; // a reply may come after all
    if (!find(request) && asking !== key && !failure) ask(request, key);
    const found = find(request); // an engine in the page answers at once
    shown = found ?? shown;
    return {
      result: shown,
      isCurrent: found !== null,
      failure: failure?.message ?? "",
      needsKernel: failure?.message === NEEDS_KERNEL,
      refused: refused?.message ?? "",
    };
  }

  /** Search for `request`; `onRead` shows it, and `now` is what is shown meanwhile. */
  function read(request: SearchRequest, now: SearchRequest, onRead: () => void): void {
    refused = null;
    if (find(request)) {
      typed.forget(); // whatever was typed before
      onRead();
      return;
    }
    typed.latest(
      request,
      (reply: Reply) => {
        receive(request, reply);
        onRead();
      },
      ({ message }: Error) => {
        refused = { key: canonicalJson(now), message };
        onNews();
      },
    );
  }

  function prepare(request: SearchRequest): void {
    const key = canonicalJson(request);
    if (find(request) || prepared.has(key)) return;
    prepared.add(key);
    kernel.ask(request).then(
      (reply: Reply) => {
        receive(request, reply);
        onNews();
      },
      () => {}, // it is then not shown beside the others
    );
  }

  return { take, want, find, read, prepare, forget: () => typed.forget() };
}
