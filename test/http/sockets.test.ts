import { Agent, request } from 'node:http';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ctx, FullReply } from '../../src/http/endpoint.ts';
import { PortTakenError, listen } from '../../src/http/listen.ts';
import type { Listening } from '../../src/http/listen.ts';
import { KEY, deferred, openApi } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api;
let server: Listening;
beforeAll(async () => {
  api = await openApi({ limits: { bodyMs: 400, uploadIdleMs: 400 } });
  server = await api.listen({ headersTimeoutMs: 300, requestTimeoutMs: 2000 });
});
afterAll(() => api.close());

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;

/** What a server says to these bytes, until it closes the connection. */
async function say(
  text: string,
  andThen: (socket: Socket) => void = () => {},
  port = server.port,
): Promise<string> {
  const socket = createConnection(port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString();
  });
  socket.on('error', () => {});
  socket.write(text);
  andThen(socket);
  await new Promise((resolve) => socket.once('close', resolve));
  return heard;
}

/** An answer of an app that is not ours. */
function reply(body: string): FullReply {
  return { status: 200, headers: [], body };
}

/** Sends these bytes again and again until the connection is closed. */
function dripping(bytes: string, everyMs = 50) {
  return (socket: Socket) => {
    const drip = setInterval(() => socket.write(bytes), everyMs);
    socket.once('close', () => clearInterval(drip));
  };
}

/** The last answer of what was heard: its status and, where it is a problem, the code. */
function answered(heard: string): { status: number; code: unknown } {
  const at = heard.lastIndexOf('HTTP/1.1 ');
  const [head = '', body = ''] = heard.slice(at).split('\r\n\r\n');
  const isProblem = /^content-type: application\/problem\+json$/im.test(head);
  const { code } = (isProblem ? JSON.parse(body) : {}) as { code?: unknown };
  return { status: Number(head.slice(9, 12)), code };
}

describe('a client that is slow', () => {
  it('with its headers is closed', async () => {
    const heard = await say('POST /ai-jobs HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    expect(answered(heard)).toEqual({ status: 408, code: 'request_timeout' });
  });

  it('with its body gets 408 and is closed, although it sends a byte now and then', async () => {
    const heard = await say(`POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n`, dripping(' '));
    expect(answered(heard)).toEqual({ status: 408, code: 'request_timeout' });
  });

  it('with its upload gets 408 and is closed', async () => {
    const heard = await say(`POST /uploads HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\nabc`);
    expect(heard).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('with its upload gets 408 although it sends a byte now and then', async () => {
    const { port } = await api.listen();
    const asked = `POST /uploads HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n`;
    const heard = await say(asked, dripping('x'), port);
    expect(answered(heard)).toEqual({ status: 408, code: 'request_timeout' });
  });

  it('with its upload is heard out at a kilobyte a second and more', async () => {
    const uploadIdleMs = 1000;
    const patient = await openApi({ limits: { uploadIdleMs } });
    const { port } = await patient.listen(); // whose own timeout for a request is minutes
    const size = 20 * 1024;
    const head = `POST /uploads HTTP/1.1\r\n${HEAD}Connection: close\r\nContent-Length: ${size}\r\n\r\n`;
    const started = performance.now();
    const heard = await say(head, dripping('x'.repeat(1024), 110), port);
    expect(answered(heard).status).toBe(201);
    expect(performance.now() - started).toBeGreaterThan(2 * uploadIdleMs);
    await patient.close();
  });
});

describe('a body that nobody reads', () => {
  it.each([
    ['GET /healthz', ''],
    ['HEAD /healthz', ''],
    ['GET /ai-jobs', HEAD],
    ['GET /nothing', HEAD],
    ['POST /nothing', HEAD],
    ['DELETE /keys/none', HEAD],
    ['POST /uploads', ''],
  ])('does not hold the connection after the answer: %s', async (line, head) => {
    const { port } = await api.listen(); // which would wait ten minutes for the rest of a request
    const asked = `${line} HTTP/1.1\r\nHost: x\r\n${head.replace('Host: x\r\n', '')}Content-Length: 1000\r\n\r\n`;
    expect(await say(asked, dripping(' '), port)).toMatch(/^HTTP\/1\.1 [24]/);
  });

  it('and that came whole leaves the connection open for the next request', async () => {
    const heard = await say(
      `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello` +
        `GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });
});

describe('a length', () => {
  it('over the limit is 413 before a byte is read, and the connection is closed', async () => {
    const heard = await say(`POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 99999999\r\n\r\n`);
    expect(heard).toMatch(/^HTTP\/1\.1 413 /);
    expect(heard.toLowerCase()).toContain('connection: close');
    expect(heard).toContain('"code":"too_large"');
  });

  it('that nobody tells is counted: 413 is seen by a client that is still sending, and memory stays flat', async () => {
    const before = process.memoryUsage().rss;
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const heard = await say(
      `POST /ai-jobs HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`,
      (socket) => {
        const pour = () => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.on('drain', pour);
        pour();
      },
    );
    expect(heard).toMatch(/^HTTP\/1\.1 413 /);
    expect(heard).toContain('"code":"too_large"');
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  it('over the limit does not break off a client that reads nothing before it has sent everything', async () => {
    const socket = createConnection(server.port, '127.0.0.1').pause();
    const size = 8 * 1024 * 1024;
    const failed = await new Promise<Error | null | undefined>((resolve) => {
      socket.on('error', resolve);
      socket.write(`POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, ' '), resolve);
    });
    expect(failed ?? null).toBeNull();
    const heard: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => heard.push(chunk)).resume();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('that is shorter than the body does not smuggle the rest in as a request', async () => {
    const heard = await say(`POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\n{"workflow":"echo"}`);
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(heard).not.toContain('HTTP/1.1 202');
  });

  it('ends a body: behind it is the next request, and what is not there yet is waited for', async () => {
    const post = `POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 19\r\n\r\n{"workflow":"echo"}`;
    const rest = `${post.slice(-5)}GET / HTTP/1.0\r\n\r\n`;
    const heard = await say(post + post.slice(0, -5), (to) => setTimeout(() => to.write(rest), 50));
    expect(heard.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['202', '202', '401']);
  });

  it('told twice, or in two ways, is refused', async () => {
    expect(
      await say(`POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`),
    ).toMatch(/^HTTP\/1\.1 400 /);
    expect(
      await say(
        `POST /ai-jobs HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      ),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a request', () => {
  it('whose client leaves in the middle of an upload leaves nothing, and no error in the log', async () => {
    await say(
      `POST /uploads HTTP/1.1\r\n${HEAD}Content-Length: 100000\r\n\r\n${'x'.repeat(5000)}`,
      (socket) => {
        setTimeout(() => socket.destroy(), 50);
      },
    );
    await say(`GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(api.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('that asks before it sends its body is told to go on only with a key and a length that fit', async () => {
    const expecting = (extra: string) => `POST /ai-jobs HTTP/1.1\r\n${extra}Expect: 100-continue\r\n`;
    const good = await say(
      expecting(`${HEAD}Connection: close\r\nContent-Length: 19\r\n`) + '\r\n',
      (socket) => {
        socket.once('data', () => socket.write('{"workflow":"echo"}'));
      },
    );
    expect(good).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /);
    const long = await say(expecting(`${HEAD}Content-Length: 99999999\r\n`) + '\r\n');
    expect(long).toMatch(/^HTTP\/1\.1 413 /);
    const keyless = await say(expecting('Host: x\r\nConnection: close\r\nContent-Length: 19\r\n') + '\r\n');
    expect(keyless).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('with too large a head, no host or an address that is none is refused', async () => {
    for (const [text, status, code] of [
      [`GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'head_too_large'],
      [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'head_too_large'],
      ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
      ['GET /a\\b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    ] as const) {
      expect(answered(await say(text))).toEqual({ status, code });
    }
  });

  it.each([
    ['with a method that is not known', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['that is none', '\u0016\u0003\u0001\u0002\u0000\r\n\r\n', 400, 'invalid_request'],
    ['of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    ['to a proxy', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    [
      'with an expectation that is not known',
      `POST /ai-jobs HTTP/1.1\r\n${HEAD}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}`,
      417,
      'expectation_failed',
    ],
    [
      'with a chunk that is none',
      `POST /ai-jobs HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      'invalid_request',
    ],
    [
      'with a chunk that says too much',
      `POST /ai-jobs HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(70_000)}\r\n`,
      413,
      'too_large',
    ],
  ])('%s gets a problem like any other, and is closed', async (_, text, status, code) => {
    const heard = await say(text);
    expect(answered(heard)).toEqual({ status, code });
    expect(heard).toMatch(/^connection: close\r$/im);
    expect(heard).toMatch(/^x-content-type-options: nosniff\r$/im);
  });

  it('to the server as a whole is known by its key like all others', async () => {
    const options = (head: string) => `OPTIONS * HTTP/1.1\r\n${head}Connection: close\r\n\r\n`;
    expect(answered(await say(options('Host: x\r\n')))).toEqual({ status: 401, code: 'unauthorized' });
    const heard = await say(options(HEAD));
    expect(heard).toMatch(/^HTTP\/1\.1 204 /);
    expect(heard).toMatch(/^allow: GET, HEAD, POST, PUT, DELETE\r$/im);
  });

  it.each([
    ['as a proxy would write it', 'GET http://x/healthz', 'Host: x', 200],
    ['with letters that are encoded', 'GET /he%61lthz', 'Host: x', 200],
    ['that goes up again', 'GET /keys/../healthz', 'Host: x', 200],
    ['of a host in capitals and with its port', 'GET /healthz', 'Host: Example.ORG:8484', 200],
    ['of an IPv6 host', 'GET /healthz', 'Host: [::1]:8484', 200],
    ['that begins like that of another host', 'GET //x/healthz', 'Host: x', 401],
    ['of a host with a user', 'GET /healthz', 'Host: me@x', 400],
    ['of a host with a path', 'GET /healthz', 'Host: x/y', 400],
    ['of another kind', 'GET ftp://x/healthz', 'Host: x', 400],
  ])('to an address %s is answered as it should', async (_, line, host, status) => {
    const heard = await say(`${line} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
    expect(answered(heard).status).toBe(status);
  });

  it('with two keys is not taken for one with the first of them', async () => {
    const second = `Authorization: Bearer ${KEY}\r\nConnection: close\r\n`;
    const heard = await say(`GET /workflows HTTP/1.1\r\n${HEAD}${second}\r\n`);
    expect(answered(heard).status).toBe(401);
  });

  it('of HTTP/1.0 needs no host', async () => {
    expect(await say('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await say('OPTIONS * HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('that is not answered in time is 503, and one that is waited for is not cut before', async () => {
    const idleTimeoutMs = 600;
    const gone = deferred();
    const app = {
      answer({ path, signal }: Ctx) {
        if (path === '/waits') {
          return new Promise<FullReply>((resolve) => setTimeout(() => resolve(reply('here')), 450));
        }
        signal.addEventListener('abort', () => gone.resolve());
        return new Promise<FullReply>(() => {});
      },
    };
    const listening = await listen({ app, host: '127.0.0.1', port: 0, sockets: { idleTimeoutMs } });
    const ask = (path: string) =>
      say(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, undefined, listening.port);
    expect(await ask('/waits')).toMatch(/here$/);
    expect(answered(await ask('/never'))).toEqual({ status: 503, code: 'unavailable' });
    await gone.promise;
    await listening.close();
  });

  it('whose client takes a part of the answer and no more is cut in the time that is said, not in twice of it', async () => {
    const idleTimeoutMs = 1500;
    const cut = deferred();
    const app = {
      async answer({ socket }: Ctx) {
        socket?.outgoing.once('close', () => cut.resolve());
        return reply('x'.repeat(50_000_000)); // more than any buffer on the way takes
      },
    };
    const listening = await listen({ app, host: '127.0.0.1', port: 0, sockets: { idleTimeoutMs } });
    const socket = createConnection(listening.port, '127.0.0.1').pause();
    socket.on('error', () => {});
    const asked = performance.now();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await cut.promise;
    expect(performance.now() - asked).toBeLessThan(idleTimeoutMs * 1.5);
    socket.destroy();
    await listening.close();
  });

  it('to trace is not answered with what it holds', async () => {
    const heard = await say(`TRACE /ai-jobs HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`);
    expect(heard).toMatch(/^HTTP\/1\.1 405 /);
    expect(heard).not.toContain(KEY);
  });

  it('can follow another on the same connection, also after a refusal', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (const [path, key] of [
      ['/workflows', KEY],
      ['/nothing', KEY],
      ['/workflows', 'wrong'],
      ['/ai-jobs', KEY],
    ] as const) {
      await new Promise<void>((resolve, reject) => {
        const asked = request(
          { port: server.port, path, agent, headers: { authorization: `Bearer ${key}` } },
          (answer) => {
            ports.add(answer.socket.localPort);
            answer.resume().once('end', resolve);
          },
        );
        asked.once('error', reject).end();
      });
    }
    agent.destroy();
    expect(ports.size).toBe(1);
  });
});

describe('listen', () => {
  it('says in a sentence that a port is taken', async () => {
    const app = { answer: async () => reply('') };
    const taken = listen({ app, host: '127.0.0.1', port: server.port });
    await expect(taken).rejects.toBeInstanceOf(PortTakenError);
    await expect(taken).rejects.toThrow(
      `Port ${server.port} on 127.0.0.1 is taken by another program; stop it, or choose another port.`,
    );
  });

  it.each(['plain', 'é', '中文', 'a 😀'])(
    'sends the answer %j in UTF-8, with its length in bytes',
    async (text) => {
      const app = { answer: async () => reply(text) };
      const listening = await listen({ app, host: '127.0.0.1', port: 0 });
      const answer = await fetch(listening.url);
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
      expect(await answer.text()).toBe(text);
      await listening.close();
    },
  );

  it('caps the number of connections', async () => {
    const small = await api.listen({ maxConnections: 2 });
    const held = [0, 1].map(() => createConnection(small.port, '127.0.0.1'));
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    const third = createConnection(small.port, '127.0.0.1');
    await new Promise((resolve) => third.once('close', resolve).on('error', () => {}));
    for (const socket of held) socket.destroy();
  });

  it('closes in bounded time although a request does not end', async () => {
    const arrived = deferred();
    const answer = () => {
      arrived.resolve();
      return new Promise<FullReply>(() => {});
    };
    const stuck = await listen({
      app: { answer },
      host: '127.0.0.1',
      port: 0,
      sockets: { closeTimeoutMs: 100 },
    });
    const asked = fetch(stuck.url).catch(() => 'cut');
    await arrived.promise;
    const socket = createConnection(stuck.port, '127.0.0.1').on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    await stuck.close();
    expect(await asked).toBe('cut');
  });
});
