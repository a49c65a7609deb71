/**
 * API keys: `ck_<id>_<secret><check>`. The secret has 130 random bits and is shown once; only its SHA-256 is kept.
 * The check digits catch a typing error before anything is looked up.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from '../domain/scopes.ts';
import type { ApiKey, KeyStore } from '../ports/key-store.ts';
import type { EngineApi, KeyHolder, KeyView } from './api.ts';
import { groupCommit } from './group-commit.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford's base 32: none that is easily misread
const ID_LENGTH = 10;
const SECRET_LENGTH = 26;
const CHECK_LENGTH = 6;
const FORM = /^ck_([0-9a-hjkmnp-tv-z]{10})_([0-9a-hjkmnp-tv-z]{26})([0-9a-hjkmnp-tv-z]{6})$/;

const LOOK_KEYS = 1000;
const ALL: readonly Scope[] = ['admin'];
const ENOUGH_KEYS = 50;
const KEPT_TOKENS = 1000;
const NOBODY = Promise.resolve(null);

type Keys = Pick<EngineApi, 'authenticate' | 'createKey' | 'listKeys' | 'revokeKey'>;

export function createKeys(deps: { keys: KeyStore; bootstrapKey: string | null; tenant: string }): Keys {
  const bootstrapSha256 = deps.bootstrapKey === null ? null : sha256(deps.bootstrapKey);
  const bootstrap: Promise<KeyHolder> = Promise.resolve({
    tenant: deps.tenant,
    actor: 'key:bootstrap',
    scopes: ALL,
  });
  const read = reading(bootstrapSha256);

  async function holderOf(told: Told): Promise<KeyHolder | null> {
    const key = await deps.keys.find({ id: told.id });
    const same = isSame(told.secretSha256, key?.secretSha256 ?? '0'.repeat(64));
    if (!same || key === null || key.revokedAt !== null) return null;
    return { tenant: key.tenant, actor: `key:${key.id}`, scopes: key.scopes };
  }

  /** Requests that come with the same key while it is looked up share the next look. */
  const find = groupCommit(
    async (asked: Told[]) => {
      const different = [...new Set(asked)];
      const looked = await Promise.all(different.map(holderOf));
      const holders = new Map(different.map((told, index) => [told, looked[index] ?? null]));
      return asked.map((told) => holders.get(told) ?? null);
    },
    { maxWeight: LOOK_KEYS, enough: ENOUGH_KEYS },
  );

  return {
    authenticate(token) {
      const told = read(token);
      if (told === null) return NOBODY;
      return told === 'bootstrap' ? bootstrap : find(told);
    },

    async createKey({ tenant }, name, scopes = ALL) {
      const id = randomText(ID_LENGTH);
      const secret = randomText(SECRET_LENGTH);
      const secretSha256 = sha256(secret);
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

interface Told {
  id: string;
  secretSha256: string;
}

/**
 * What a token says: whose it is, and the digest of its secret; or that it is the operator's. Those of the last tokens in good form are
 * kept, by the tokens' own digests, since working them out takes longer than the rest of a small request. Whether the key stands
 * is asked each time.
 */
function reading(bootstrapSha256: string | null): (token: string) => Told | 'bootstrap' | null {
  const kept = new Map<string, Told | 'bootstrap'>();

  function readAnew(token: string, tokenSha256: string): Told | 'bootstrap' | null {
    if (bootstrapSha256 !== null && isSame(tokenSha256, bootstrapSha256)) return 'bootstrap';
    const parts = parseKey(token);
    return parts === null ? null : { id: parts.id, secretSha256: sha256(parts.secret) };
  }

  return (token) => {
    const tokenSha256 = sha256(token);
    const known = kept.get(tokenSha256);
    if (known !== undefined) return known;
    const told = readAnew(token, tokenSha256);
    if (told === null) return null;
    if (kept.size === KEPT_TOKENS) kept.clear();
    kept.set(tokenSha256, told);
    return told;
  };
}

/** In constant time. */
function isSame(sha256One: string, sha256Other: string): boolean {
  return timingSafeEqual(Buffer.from(sha256One, 'latin1'), Buffer.from(sha256Other, 'latin1'));
}

/** Null where the form or the check digits are wrong. */
export function parseKey(token: string): { id: string; secret: string } | null {
  const [, id, secret, check] = FORM.exec(token) ?? [];
  if (id === undefined || secret === undefined || check !== checkDigits(id, secret)) return null;
  return { id, secret };
}

function checkDigits(id: string, secret: string): string {
  return encode(hash('sha256', `ck_${id}_${secret}`, 'buffer').subarray(0, CHECK_LENGTH));
}

function randomText(length: number): string {
  return encode(randomBytes(length));
}

/** One character a byte; 256 is a multiple of 32, so every character is equally likely. */
function encode(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
