/** The whole API as one table: what is served, what the document lists, and what the tests walk. */
import { downloadEndpoints } from './downloads.ts';
import type { Endpoint } from './endpoint.ts';
import { healthEndpoints } from './health.ts';
import { jobEndpoints } from './jobs.ts';
import { keyEndpoints } from './keys.ts';
import { openApiDocument } from './openapi.ts';
import { spendingEndpoints } from './spending.ts';
import { uploadEndpoints } from './uploads.ts';

export function routes(): Endpoint[] {
  const table: Endpoint[] = [
    ...healthEndpoints((surface) => openApiDocument(table, surface)),
    ...jobEndpoints,
    ...downloadEndpoints,
    ...uploadEndpoints,
    ...spendingEndpoints,
    ...keyEndpoints,
  ];
  return table;
}
