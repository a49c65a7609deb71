/** Routes that give bytes: artifacts, evidence, input files. They come as attachments, to be kept and not to be run. */
import type { Readable } from 'node:stream';
import type { OpenedArtifact, Result } from '../engine/api.ts';
import { contentTag, namesTag, reprDigest } from './conditional.ts';
import { endpoint } from './endpoint.ts';
import type { Answer, Asked, Ctx, Endpoint, Surface } from './endpoint.ts';
import { attachment } from './file-names.ts';
import type { Problem } from './problems.ts';
import { EvidenceQuery } from './schemas.ts';

const MEDIA_TYPE =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

const ANSWERS: Record<number, Answer> = {
  200: {
    description: 'The bytes.',
    media: '*/*',
    headers: ['ETag', 'Repr-Digest', 'Content-Disposition', 'Content-Length'],
  },
  304: { description: 'Still the bytes that you have.', headers: ['ETag', 'Repr-Digest'] },
};
const IF_NONE_MATCH = { 'If-None-Match': 'The ETag of the bytes that you have.' };

const artifact = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/artifact',
  scope: 'jobs',
  doc: {
    summary: 'The output of a completed job',
    requestHeaders: IF_NONE_MATCH,
    answers: ANSWERS,
    problems: ['not_found', 'artifact_not_ready'],
  },
  handle: async (asked, surface) =>
    download(asked, surface, await surface.engine.openArtifact(asked.caller, asked.id, null)),
});

const namedArtifact = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/artifacts/:name',
  scope: 'jobs',
  doc: {
    summary: 'An artifact that the workflow gave a name',
    requestHeaders: IF_NONE_MATCH,
    answers: ANSWERS,
    problems: ['not_found', 'artifact_not_ready'],
  },
  handle: async (asked, surface) =>
    download(asked, surface, await surface.engine.openArtifact(asked.caller, asked.id, asked.name)),
});

const evidence = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/evidence',
  scope: 'evidence',
  doc: {
    summary: 'A piece of evidence, by the `uri` that the record gives',
    query: EvidenceQuery,
    requestHeaders: IF_NONE_MATCH,
    answers: ANSWERS,
    problems: ['invalid_request', 'not_found', 'evidence_expired'],
  },
  handle: async (asked, surface) =>
    download(asked, surface, await surface.engine.openEvidence(asked.caller, asked.id, asked.query.uri)),
});

const inputFile = endpoint({
  method: 'get',
  path: '/ai-jobs/:id/input',
  scope: 'jobs',
  doc: {
    summary: 'The file that the job was given by `input_ref`',
    requestHeaders: IF_NONE_MATCH,
    answers: ANSWERS,
    problems: ['not_found'],
  },
  handle: async (asked, surface) =>
    download(asked, surface, await surface.engine.openInputFile(asked.caller, asked.id)),
});

export const downloadEndpoints: Endpoint[] = [artifact, namedArtifact, evidence, inputFile];

function download(
  { c }: Asked<unknown, unknown>,
  surface: Surface,
  opened: Result<OpenedArtifact>,
): Response | Problem {
  if (!opened.ok) return opened;
  const { ref, fileName } = opened.value;
  const etag = contentTag(ref.sha256);
  const headers = { etag, 'repr-digest': reprDigest(ref.sha256), 'cache-control': 'private, no-cache' };
  if (namesTag(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  return new Response(
    pulled(() => opened.value.stream(), c, surface),
    {
      headers: {
        ...headers,
        'content-type': MEDIA_TYPE.test(ref.mediaType) ? ref.mediaType : 'application/octet-stream',
        'content-length': String(ref.bytes),
        'content-disposition': attachment(fileName),
        'content-security-policy': "sandbox; default-src 'none'",
      },
    },
  );
}

/** Opens the bytes at the first read, and reads on as fast as they are taken. */
function pulled(open: () => Readable, c: Ctx, { log }: Surface): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | null = null;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          chunks ??= open()[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
          const next = await chunks.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          log.error(
            { request_id: c.var.requestId, error: error instanceof Error ? error.name : 'unknown' },
            'a download broke off',
          );
          // the headers are out: only a broken connection can say that the bytes are not all there
          if (c.env.outgoing === undefined) controller.error(error);
          else c.env.outgoing.destroy();
        }
      },
      async cancel() {
        await chunks?.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
