/**
 * API keys: `ck_<id>_<secret><check>`. The secret has 130 random bits and is shown once; only its SHA-256 is kept.
 * The check digits catch a typing error before anything is looked up.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from '../domain/scopes.ts';
import type { ApiKey, KeyStore } from '../ports/key-store.ts';
import type { EngineApi, KeyView } from './api.ts';
import { groupCommit } from './group-commit.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford's base 32: none that is easily misread
const ID_LENGTH = 10;
const SECRET_LENGTH = 26;
const CHECK_LENGTH = 6;
const FORM = /^ck_([0-9a-hjkmnp-tv-z]{10})_([0-9a-hjkmnp-tv-z]{26})([0-9a-hjkmnp-tv-z]{6})$/;

const LOOK_KEYS = 1000;
const ALL: readonly Scope[] = ['admin'];

type Keys = Pick<EngineApi, 'authenticate' | 'createKey' | 'listKeys' | 'revokeKey'>;

export function createKeys(deps: { keys: KeyStore; bootstrapKey: string | null; tenant: string }): Keys {
  const bootstrapDigest = deps.bootstrapKey === null ? null : digest(deps.bootstrapKey);

  /** Requests that come with the same key while it is looked up share the next look. */
  const find = groupCommit(
    async (ids: string[]) => {
      const different = [...new Set(ids)];
      const looked = await Promise.all(
        different.map(async (id): Promise<[string, ApiKey | null]> => [id, await deps.keys.find({ id })]),
      );
      const found = new Map(looked);
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxWeight: LOOK_KEYS },
  );

  return {
    async authenticate(token) {
      if (bootstrapDigest !== null && timingSafeEqual(digest(token), bootstrapDigest)) {
        return { tenant: deps.tenant, actor: 'key:bootstrap', scopes: ALL };
      }
      const parts = parseKey(token);
      if (parts === null) return null;
      const key = await find(parts.id);
      const expected = Buffer.from(key?.secretSha256 ?? '0'.repeat(64), 'hex');
      const same = timingSafeEqual(digest(parts.secret), expected);
      if (!same || key === null || key.revokedAt !== null) return null;
      return { tenant: key.tenant, actor: `key:${key.id}`, scopes: key.scopes };
    },

    async createKey({ tenant }, name, scopes = ALL) {
      const id = randomText(ID_LENGTH);
      const secret = randomText(SECRET_LENGTH);
      const secretSha256 = digest(secret).toString('hex');
      await deps.keys.add({ id, tenant, name, scopes: [...new Set(scopes)], secretSha256 });
      const stored = await deps.keys.find({ id });
      if (stored === null) throw new Error('a key that was just written is not there');
      return { key: `ck_${id}_${secret}${checkDigits(id, secret)}`, view: viewOf(stored) };
    },

    listKeys: async ({ tenant }) => (await deps.keys.list({ tenant })).map(viewOf),

    revokeKey: ({ tenant }, id) => deps.keys.revoke({ tenant, id }),
  };
}

function viewOf({ id, name, scopes, createdAt, revokedAt }: ApiKey): KeyView {
  return { id, name, scopes, createdAt, revokedAt };
}

/** Null where the form or the check digits are wrong. */
export function parseKey(token: string): { id: string; secret: string } | null {
  const [, id, secret, check] = FORM.exec(token) ?? [];
  if (id === undefined || secret === undefined || check !== checkDigits(id, secret)) return null;
  return { id, secret };
}

function checkDigits(id: string, secret: string): string {
  return encode(digest(`ck_${id}_${secret}`).subarray(0, CHECK_LENGTH));
}

function randomText(length: number): string {
  return encode(randomBytes(length));
}

/** One character a byte; 256 is a multiple of 32, so every character is equally likely. */
function encode(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
