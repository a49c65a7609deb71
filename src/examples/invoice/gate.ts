/** Lets at most so many tasks run at once in this process; the others wait their turn. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  /** @throws the signal's reason where it fires before the task had its turn; then the task is never started */
  async pass<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await task();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(turn);
    });
  }

  /** Hands the place on, so that nobody who comes later takes it first. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
