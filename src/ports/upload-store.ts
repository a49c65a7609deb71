/** What is known of the files that callers handed in; their bytes are in the blob store under the same reference. */
export interface Upload {
  ref: string;
  tenant: string;
  sha256: string;
  bytes: number;
  mediaType: string;
  /** The caller's name for it: shown, never used as a path. */
  fileName: string | null;
}

export interface UploadStore {
  /** Writing the same reference again changes nothing. */
  add(upload: Upload): Promise<void>;
  find(params: { tenant: string; ref: string }): Promise<Upload | null>;
}
