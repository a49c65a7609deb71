/** Entity tags (RFC 9110) and digests (RFC 9530). */

/** The entity tag of a status: it changes with every event of the job. */
export function statusTag(seq: number): string {
  return `"v${seq}"`;
}

export function contentTag(sha256: string): string {
  return `"${sha256}"`;
}

/** Whether an If-None-Match names this tag. Comparison is weak, as for every If-None-Match. */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([one]) => one).includes(tag);
}

/** The Repr-Digest of bytes with this SHA-256 (hexadecimal). */
export function reprDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}
