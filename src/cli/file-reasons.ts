/** Why a file or a directory cannot be used, as the end of a sentence. */

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  ENOTDIR: 'there is a file of that name',
  EEXIST: 'there is a file of that name',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
};

/** What the system's error says, without its numbers and calls. */
export function fileReason(error: unknown, use: 'read' | 'write'): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return use === 'read' ? 'this user may not read it' : 'this user may not write there';
  }
  return REASONS[code] ?? message.replace(/\.$/, '');
}
