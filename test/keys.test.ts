import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { createKeys, parseKey } from '../src/engine/keys.ts';
import { openSqliteStore } from '../src/stores/sqlite/store.ts';
import { DEFAULT_SETTINGS } from '../src/engine/settings.ts';

const CALLER = { tenant: 'default', actor: 'local:test' };

async function openKeys(bootstrapKey: string | null = null) {
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-keys-'));
  const store = await openSqliteStore({ dataDir, rules: DEFAULT_SETTINGS });
  onTestFinished(async () => {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { store, keys: createKeys({ keys: store.keys, bootstrapKey, tenant: 'default' }) };
}

it('a new key opens, and only its digest is stored', async () => {
  const { store, keys } = await openKeys();
  const { key, view } = await keys.createKey(CALLER, 'ci');
  expect(key).toMatch(new RegExp(`^ck_${view.id}_[0-9a-z]{32}$`));
  expect(await keys.authenticate(key)).toEqual({
    tenant: 'default',
    actor: `key:${view.id}`,
    scopes: ['admin'],
  });
  const stored = JSON.stringify(await store.keys.list({ tenant: 'default' }));
  expect(stored).not.toContain(parseKey(key)?.secret);
});

it('a revoked key opens nothing, and is revoked once', async () => {
  const { keys } = await openKeys();
  const { key, view } = await keys.createKey(CALLER, 'ci');
  expect(await keys.authenticate(key)).not.toBeNull();
  expect(await keys.revokeKey(CALLER, view.id)).toBe(true);
  expect(await keys.authenticate(key)).toBeNull();
  expect(await keys.revokeKey(CALLER, view.id)).toBe(false);
});

it('a key with one character changed fails its check digits before anything is looked up', async () => {
  const { store, keys } = await openKeys();
  const { key } = await keys.createKey(CALLER, 'ci');
  await store.close(); // a look-up would reject now
  await fc.assert(
    fc.asyncProperty(
      fc.nat(key.length - 1),
      fc.constantFrom(...Array.from('0123456789abcdefghjkmnpqrstvwxyz')),
      async (at, other) => {
        const typo = key.slice(0, at) + other + key.slice(at + 1);
        if (typo !== key) expect(await keys.authenticate(typo)).toBeNull();
      },
    ),
  );
});

it('of two keys with one id that are looked up together, the one with the wrong secret opens nothing', async () => {
  const { keys } = await openKeys();
  const { key, view } = await keys.createKey(CALLER, 'ci');
  const forged = `ck_${view.id}_${'0'.repeat(26)}`;
  const digest = createHash('sha256').update(forged).digest().subarray(0, 6);
  const check = Array.from(digest, (byte) => '0123456789abcdefghjkmnpqrstvwxyz'.charAt(byte % 32)).join('');
  expect(parseKey(forged + check)).not.toBeNull();
  const asked = [key, forged + check, key, forged + check].map((one) => keys.authenticate(one));
  const opened = (await Promise.all(asked)).map((holder) => holder?.actor ?? null);
  expect(opened).toEqual([`key:${view.id}`, null, `key:${view.id}`, null]);
});

it('a bootstrap key of any form opens as given, and nothing near it does', async () => {
  const given = 'a key of an operator, 32 characters';
  const { keys } = await openKeys(given);
  expect(await keys.authenticate(given)).toEqual({
    tenant: 'default',
    actor: 'key:bootstrap',
    scopes: ['admin'],
  });
  expect(await keys.authenticate(`${given} `)).toBeNull();
  expect(await keys.authenticate('')).toBeNull();
});
