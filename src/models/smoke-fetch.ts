/** The network as a smoke check sees it: the request as it goes out, and of the answer what its headers say and when they came. */
import { readJsonText } from '../domain/json-text.ts';
import type { JsonValue } from '../domain/json.ts';
import type { SentRequest } from '../domain/smoke/report.ts';
import { rateLimitsOf, requestIdOf } from './seen.ts';

export interface Wire {
  /** Null until one went out. */
  request: SentRequest | null;
  httpStatus: number | null;
  headersMs: number | null;
  requestId: string | null;
  responseHeaders: Readonly<Record<string, string>>;
}

/** Those that no key, cookie or account is in. */
const SENT = /^(accept|content-type|user-agent|anthropic-version|anthropic-beta|openai-beta)$/;
const CAME = /^(content-type|retry-after|retry-after-ms|x-should-retry|openai-processing-ms)$/;

export interface RecordingFetch {
  fetch: typeof fetch;
  wire: Wire;
}

/** A `fetch` for one call. It follows no redirect: the key goes to the address that was pinned, and nowhere else. */
export function recordingFetch(): RecordingFetch {
  const wire: Wire = {
    request: null,
    httpStatus: null,
    headersMs: null,
    requestId: null,
    responseHeaders: {},
  };
  async function send(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
    wire.request = {
      method: init?.method ?? 'GET',
      url: input instanceof Request ? input.url : String(input),
      headers: allowed(new Headers(init?.headers), SENT),
      body: bodyOf(init?.body),
    };
    const startedMs = performance.now();
    const response = await fetch(input, { ...init, redirect: 'manual' });
    wire.headersMs = Math.round(performance.now() - startedMs);
    wire.httpStatus = response.status;
    const headers = Object.fromEntries(response.headers);
    wire.requestId = requestIdOf(headers);
    wire.responseHeaders = { ...allowed(response.headers, CAME), ...rateLimitsOf(headers) };
    return response;
  }
  return { fetch: send, wire };
}

function allowed(headers: Headers, names: RegExp): Record<string, string> {
  return Object.fromEntries(Array.from(headers).filter(([name]) => names.test(name)));
}

function bodyOf(body: unknown): JsonValue {
  if (typeof body !== 'string') return null;
  const read = readJsonText(body);
  return read.ok ? read.value : body;
}
