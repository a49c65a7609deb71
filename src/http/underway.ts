/**
 * The requests under way and the sockets they came on: how long one may stand still, what becomes of a body that nobody
 * read, and how all of them end when the server does.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { LINGER_MS } from './respond.ts';
import { NO_ANSWER, refuse } from './socket-answers.ts';

/** On a socket: the last answer that was begun on it, until that is over. What an idle connection holds is copied at every collection. */
const ANSWER = Symbol('answer');

type Answering = Duplex & { [ANSWER]?: ServerResponse | undefined };

export class Underway {
  readonly #closing = new AbortController();
  readonly #server: Server;
  /** Answers that have been awaited for one half of the time that their sockets may stand still. */
  readonly #awaited = new WeakSet<ServerResponse>();
  /** Answers that were begun behind another one of their socket. */
  readonly #behind = new WeakMap<Duplex, Set<ServerResponse>>();
  readonly #onClose: (this: ServerResponse) => void;
  #requests = 0;

  constructor(server: Server) {
    this.#server = server;
    const end = (answer: ServerResponse) => this.#end(answer);
    this.#onClose = function () {
      end(this);
    };
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    this.#requests += 1;
    const socket: Answering = incoming.socket;
    socket[ANSWER] = outgoing;
    if (outgoing.socket === null) this.#closeWith(socket, outgoing);
    outgoing.on('close', this.#onClose);
  }

  #end(answer: ServerResponse): void {
    this.#requests -= 1;
    const { req: incoming } = answer;
    const socket: Answering = incoming.socket;
    if (socket[ANSWER] === answer) socket[ANSWER] = undefined;
    if (!incoming.complete) leaveUnread(incoming);
    if (this.closing.aborted) this.#closeIfDone();
  }

  /** Node tells no answer of its socket's end but the one whose turn it is. */
  #closeWith(socket: Duplex, answer: ServerResponse): void {
    const behind = this.#behind.get(socket) ?? new Set();
    if (!this.#behind.has(socket)) {
      this.#behind.set(socket, behind);
      socket.once('close', () => behind.forEach(closeUnsent));
    }
    behind.add(answer);
    answer.once('close', () => behind.delete(answer));
  }

  /** Whether a part of an answer went out on it, and not yet the whole. */
  isAnswering(socket: Answering): boolean {
    const answer = socket[ANSWER];
    return answer?.headersSent === true && !answer.writableFinished;
  }

  /**
   * For a socket on which Node saw no byte for `halfMs`. Where something waits to be read by the client, Node lets one
   * such time pass in silence: hence the half, after which such a reader is cut at once, and an answer that is awaited
   * is given as much time again.
   */
  stoodStill(socket: Socket & Answering, halfMs: number): void {
    const answer = socket[ANSWER];
    if (answer === undefined || answer.writableFinished || socket.writableLength > 0) socket.destroy();
    else if (!this.#awaited.has(answer)) {
      this.#awaited.add(answer);
      socket.setTimeout(halfMs);
    } else if (answer.headersSent) socket.destroy();
    else refuse(socket, NO_ANSWER);
  }

  async close(closeTimeoutMs: number): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#closing.abort();
    this.#closeIfDone();
    const last = setTimeout(() => this.#server.closeAllConnections(), closeTimeoutMs);
    await closed;
    clearTimeout(last);
  }

  /** Node's own `closeIdleConnections` leaves out those that never sent a request, and those whose last one ends later. */
  #closeIfDone(): void {
    if (this.#requests === 0) this.#server.closeAllConnections();
    else this.#server.closeIdleConnections();
  }
}

function closeUnsent(answer: ServerResponse): void {
  if (answer.socket === null && !answer.writableFinished) answer.destroy().emit('close');
}

/** The rest of a body after its answer holds the socket no longer than it takes a client to see that answer. */
function leaveUnread(incoming: IncomingMessage): void {
  incoming.resume();
  setTimeout(() => {
    if (!incoming.complete) incoming.socket.destroy();
  }, LINGER_MS).unref();
}
