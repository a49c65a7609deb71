/** The route that takes files: the raw body, or a form with one `file`, streamed on and never held in memory. */
import type { EngineApi } from '../engine/api.ts';
import { Upload } from './answers.ts';
import { BodyRefused, bodyChunks, encoded } from './body.ts';
import { endpoint, json } from './endpoint.ts';
import type { Asked, Endpoint, Surface } from './endpoint.ts';
import { requestedName } from './file-names.ts';
import { readForm } from './multipart.ts';
import { closing, problem } from './problems.ts';
import type { Parsed, Problem } from './problems.ts';

type File = Parameters<EngineApi['upload']>[1];

/** What a form may weigh beyond its file. */
const FORM_OVERHEAD_BYTES = 64 * 1024;
const MEDIA_TYPE_LIMIT = 255;

const upload = endpoint({
  method: 'post',
  path: '/uploads',
  scope: 'jobs',
  doc: {
    summary: 'Upload a file that jobs can name by its `input_ref`',
    rawBody: ['*/*', 'multipart/form-data'],
    requestHeaders: { 'Content-Disposition': 'May give the file a name, for people to see.' },
    answers: { 201: { description: 'Kept, durably.', schema: Upload } },
    problems: ['invalid_request', 'request_timeout', 'too_large', 'unsupported_media_type', 'storage_full'],
  },
  async handle(asked, surface) {
    try {
      const refusal = encoded(asked.c);
      if (refusal !== null) return refusal;
      const file = await fileOf(asked, surface);
      return file.ok ? await keep(asked, surface, file.value) : file;
    } catch (error) {
      if (error instanceof BodyRefused) return error.problem;
      if (asked.c.req.raw.signal.aborted)
        return problem('invalid_request', 'The connection ended before the body did.');
      throw error;
    }
  },
});

export const uploadEndpoints: Endpoint[] = [upload];

async function keep(
  { c, caller }: Asked<unknown, unknown>,
  { engine }: Surface,
  file: File,
): Promise<Response | Problem> {
  const kept = await engine.upload(caller, { ...file, signal: c.req.raw.signal });
  if (!kept.ok) return closing(kept);
  const { inputRef, sha256, bytes, mediaType } = kept.value;
  return json({ input_ref: inputRef, sha256, bytes, media_type: mediaType }, 201);
}

async function fileOf({ c }: Asked<unknown, unknown>, { limits, clock }: Surface): Promise<Parsed<File>> {
  const mediaType = c.req.header('content-type') ?? 'application/octet-stream';
  if (mediaType.length > MEDIA_TYPE_LIMIT || !/^[\x20-\x7e]+\/[\x20-\x7e]+$/.test(mediaType)) {
    return closing(problem('unsupported_media_type', 'The Content-Type is not a media type.'));
  }
  const isForm = /^multipart\/form-data\b/i.test(mediaType);
  const maxBytes = limits.uploadBytes + (isForm ? FORM_OVERHEAD_BYTES : 0);
  const body = bodyChunks(c, { maxBytes, idleMs: limits.uploadIdleMs, clock });
  if (isForm) return readForm(body, mediaType);
  return {
    ok: true,
    value: { body, mediaType, fileName: requestedName(c.req.header('content-disposition')) },
  };
}
