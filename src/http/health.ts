/** Routes open to all: is the process up, does its store take writes, what is the API. */
import { Health } from './answers.ts';
import { json, openEndpoint } from './endpoint.ts';
import type { Ctx, Endpoint, Surface } from './endpoint.ts';

const OK = { status: 'ok' };

const healthz = openEndpoint({
  method: 'get',
  path: '/healthz',
  doc: {
    summary: 'The process answers',
    answers: { 200: { description: 'It does.', schema: Health } },
    problems: [],
  },
  handle: () => json(OK),
});

export function healthEndpoints(openapi: (surface: Surface) => object): Endpoint[] {
  return [healthz, readyz(), document(openapi)];
}

/** Asking costs the store a write, and anybody may ask: those who ask at once share one look. */
function readyz(): Endpoint {
  let looking: Promise<void> | null = null;
  return openEndpoint({
    method: 'get',
    path: '/readyz',
    doc: {
      summary: 'The store and the files take writes',
      answers: { 200: { description: 'They do.', schema: Health } },
      problems: ['storage_full'],
    },
    async handle(_: Ctx, { engine }) {
      looking ??= engine.ready().finally(() => {
        looking = null;
      });
      await looking;
      return json(OK);
    },
  });
}

function document(openapi: (surface: Surface) => object): Endpoint {
  let text: string | null = null;
  return openEndpoint({
    method: 'get',
    path: '/openapi.json',
    doc: {
      summary: 'This document',
      answers: { 200: { description: 'OpenAPI 3.1.', media: 'application/json' } },
      problems: [],
    },
    handle(_, surface) {
      text ??= JSON.stringify(openapi(surface));
      return {
        status: 200,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' },
        body: text,
      };
    },
  });
}
