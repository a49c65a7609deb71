/** What ends a command: an exit code for scripts and one sentence for people. */

/** The exit codes of every command, as documented in docs/cli.md and `claimcheck --help`. */
export const EXIT = {
  ok: 0,
  /** The job died, the demo failed, or what was asked was refused (no such job, already ended). */
  failed: 1,
  /** The command line, a setting, a key or the workflow module is wrong. */
  usage: 2,
  /** The API or the store cannot be used: not reachable, not writable, port taken, disk full. */
  unavailable: 3,
  /** `work` only: every slot is held by an attempt that ignores its signal; start it again. */
  stuck: 75,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An expected end with a sentence that says what is wrong and the way out. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
