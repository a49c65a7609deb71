/** Routes about API keys. */
import { NewKey, Keys } from './answers.ts';
import { audit, endpoint, json } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { problem } from './problems.ts';
import { keyJson } from './requests.ts';
import { KeyBody } from './schemas.ts';

const create = endpoint({
  method: 'post',
  path: '/keys',
  scope: 'admin',
  doc: {
    summary: 'Make a key; it is shown this once',
    body: KeyBody,
    answers: { 201: { description: 'The key.', schema: NewKey } },
    problems: ['invalid_request', 'request_timeout', 'too_large', 'unsupported_media_type', 'storage_full'],
  },
  async handle({ c, caller, body }, surface) {
    const { key, view } = await surface.engine.createKey(caller, body.name, body.scopes);
    audit(c, surface, { key_id: view.id, scopes: view.scopes }, 'a key was made');
    return json({ key, ...keyJson(view) }, 201);
  },
});

const list = endpoint({
  method: 'get',
  path: '/keys',
  scope: 'admin',
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
  scope: 'admin',
  doc: {
    summary: 'Revoke a key; its open streams are closed',
    answers: { 204: { description: 'Revoked.' } },
    problems: ['not_found'],
  },
  async handle({ c, caller, id }, surface) {
    const revoked = await surface.engine.revokeKey(caller, id);
    if (!revoked) return problem('not_found', 'There is no such key, or it was revoked before.');
    audit(c, surface, { key_id: id }, 'a key was revoked');
    return new Response(null, { status: 204 });
  },
});

export const keyEndpoints: Endpoint[] = [create, list, revoke];
