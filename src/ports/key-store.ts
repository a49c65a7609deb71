/** API keys, of which only a digest is kept. */
export interface ApiKey {
  id: string;
  tenant: string;
  name: string;
  scopes: string[];
  secretSha256: string;
  createdAt: number;
  revokedAt: number | null;
}

export interface KeyStore {
  add(key: Omit<ApiKey, 'createdAt' | 'revokedAt'>): Promise<void>;
  find(params: { id: string }): Promise<ApiKey | null>;
  /** Oldest first, revoked ones included. */
  list(params: { tenant: string }): Promise<ApiKey[]>;
  /** False where there is no such key or it was revoked before. */
  revoke(params: { tenant: string; id: string }): Promise<boolean>;
}
