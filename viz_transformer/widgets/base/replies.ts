// The replies to what was asked: what was once answered is shown within a frame.

import { canonicalJson, type connectKernel, newestOf } from "./kernel.ts";

type Kernel = Pick<ReturnType<typeof connectKernel>, "ask" | "latest">;

/** A request with its reply. */
export interface Answered<Request, Reply> {
  request: Request;
  reply: Reply;
}

/**
 * `want(request)` returns what is known of it (`now`), or null until it is answered; the newest that could be shown
 * (`latest`), the one shown before that, and why the request could not be answered. `read(request, onRead)` asks
 * for what may be refused, such as a sentence that was typed, and shows nothing by itself.
 *
 * @param first what is known from the beginning
 */
export function newestReply<Request extends object, Reply>(
  kernel: Kernel,
  onNews: () => void,
  first?: Answered<Request, Reply>,
) {
  type Entry = Answered<Request, Reply>;
  const known: Map<string, Entry> = new RecentMap();
  let [latest, before]: (Entry | null)[] = [null, null];
  let [asked, problem] = ["", ""];
  const submitted = newestOf(kernel.ask);
  const keep = (request: Request, reply: Reply) => known.set(canonicalJson(request), { request, reply });
  if (first) keep(first.request, first.reply);

  function tell(told: string): void {
    problem = told;
    onNews();
  }

  function want(request: Request) {
    const key = canonicalJson(request);
    const now = known.get(key) ?? null;
    if (asked !== key) {
      [asked, problem] = [key, ""];
      if (!now)
        kernel.latest(
          request,
          (reply: Reply) => {
            keep(request, reply);
            tell("");
          },
          (error: Error) => tell(error.message),
        );
    }
    if (now && now !== latest) [before, latest] = [latest, now];
    return { now, latest, before, problem };
  }

  function read(request: Request, onRead: (reply: Reply) => void): void {
    tell("");
    submitted.latest(
      request,
      (reply: Reply) => {
        keep(request, reply);
        onRead(reply);
      },
      (error: Error) => tell(error.message),
    );
  }

  return { want, read, forget: () => tell("") };
}

export class RecentMap<Key, Value> extends Map<Key, Value> {
  most: number;

  constructor(most = 24) {
    super();
    this.most = most;
  }

  set(key: Key, value: Value) {
    super.set(key, value);
    if (this.size > this.most) this.delete(this.keys().next().value!);
    return this;
  }
}
