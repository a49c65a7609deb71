/** Routes about API keys. */
import { NewKey, Keys } from './answers.ts';
import { endpoint, json } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { problem } from './problems.ts';
import { keyJson } from './requests.ts';
import { KeyBody } from './schemas.ts';

const create = endpoint({
  method: 'post',
  path: '/keys',
  doc: {
    summary: 'Make a key; it is shown this once',
    body: KeyBody,
    answers: { 201: { description: 'The key.', schema: NewKey } },
    problems: ['invalid_request', 'request_timeout', 'too_large', 'unsupported_media_type', 'storage_full'],
  },
  async handle({ caller, body }, { engine }) {
    const { key, view } = await engine.createKey(caller, body.name);
    return json({ key, ...keyJson(view) }, 201);
  },
});

const list = endpoint({
  method: 'get',
  path: '/keys',
  doc: {
    summary: 'List the keys, revoked ones included, without their secrets',
    answers: { 200: { description: 'Oldest first.', schema: Keys } },
    problems: [],
  },
  async handle({ caller }, { engine }) {
    return json({ keys: (await engine.listKeys(caller)).map(keyJson) });
  },
});

const revoke = endpoint({
  method: 'delete',
  path: '/keys/:id',
  doc: {
    summary: 'Revoke a key; its open streams are closed',
    answers: { 204: { description: 'Revoked.' } },
    problems: ['not_found'],
  },
  async handle({ caller, id }, { engine }) {
    const revoked = await engine.revokeKey(caller, id);
    return revoked
      ? { status: 204, headers: {}, body: null }
      : problem('not_found', 'There is no such key, or it was revoked before.');
  },
});

export const keyEndpoints: Endpoint[] = [create, list, revoke];
