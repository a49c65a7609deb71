/** What the providers say with a status of their own: the same trouble in each API's words. */
import type { Asked, ErrorReply, ProviderReply } from './replies.ts';

export interface HttpError {
  status: number;
  /** The body as JSON. */
  body: object;
}

/** The troubles that have a status and a JSON body: those of a script, and those that answer a call it never sees. */
export type Trouble = ErrorReply['reply'] | 'output_blocked' | 'unknown_path' | 'unreadable_body';

/** @param requestId Anthropic repeats it in the body */
export function httpError(trouble: Trouble, asked: Asked, requestId: string): HttpError {
  if (asked.api !== 'messages') return openaiError(trouble, asked);
  const [status, type, message, details] = ANTHROPIC[trouble](asked);
  return { status, body: anthropicErrorBody(type, message, requestId, details) };
}

export function isError(reply: ProviderReply): reply is ErrorReply {
  return Object.hasOwn(OPENAI, reply.reply);
}

export function anthropicErrorBody(
  type: string,
  message: string,
  requestId: string,
  details?: object,
): object {
  return { type: 'error', error: { type, message, ...(details ? { details } : {}) }, request_id: requestId };
}

function openaiError(trouble: Trouble, asked: Asked): HttpError {
  const [status, type, message, code, param] = OPENAI[trouble](asked);
  return { status, body: { error: { message, type, param: param ?? null, code } } };
}

type OpenaiForm = [status: number, type: string, message: string, code: string | null, param?: string];

/** Careless providers put the request into their error: what the caller must not pass on. */
function quoted({ body }: Asked): string {
  return `The server had an error while processing your request: ${JSON.stringify(body)}`;
}

const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, ' +
  'read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';

const OPENAI: Record<Trouble, (asked: Asked) => OpenaiForm> = {
  rate_limited: ({ model }) => [
    429,
    'requests',
    `Rate limit reached for ${model} on requests per min (RPM): Limit 3, Used 3, Requested 1.`,
    'rate_limit_exceeded',
  ],
  insufficient_quota: () => [429, 'insufficient_quota', QUOTA, 'insufficient_quota'],
  credit_too_low: () => [
    400,
    'invalid_request_error',
    'Billing hard limit has been reached',
    'billing_hard_limit_reached',
  ],
  payment_required: () => [402, 'insufficient_credits', 'Insufficient credits. Add more to continue.', null],
  overloaded: () => [
    503,
    'server_error',
    'The engine is currently overloaded, please try again later',
    'server_is_overloaded',
  ],
  server_error: (asked) => [500, 'server_error', quoted(asked), null],
  context_too_long: ({ api }) => [
    400,
    'invalid_request_error',
    api === 'responses'
      ? 'Your input exceeds the context window of this model. Please adjust your input and try again.'
      : "This model's maximum context length is 128000 tokens. However, your messages resulted in 214512 tokens.",
    'context_length_exceeded',
    api === 'responses' ? 'input' : 'messages',
  ],
  unauthorized: () => [
    401,
    'invalid_request_error',
    'Incorrect API key provided: fa******ey.',
    'invalid_api_key',
  ],
  forbidden: () => [
    403,
    'request_forbidden',
    'Country, region, or territory not supported',
    'unsupported_country_region_territory',
  ],
  model_not_found: ({ model }) => [
    404,
    'invalid_request_error',
    `The model \`${model}\` does not exist or you do not have access to it.`,
    'model_not_found',
  ],
  bad_request: () => [
    400,
    'invalid_request_error',
    "Unsupported parameter: 'temperature' is not supported with this model.",
    'unsupported_parameter',
    'temperature',
  ],
  output_blocked: () => [400, 'invalid_request_error', 'The output was filtered.', 'content_filter'],
  unknown_path: () => [404, 'invalid_request_error', 'Invalid URL', null],
  unreadable_body: () => [
    400,
    'invalid_request_error',
    'We could not parse the JSON body of your request.',
    null,
  ],
};

type AnthropicForm = [status: number, type: string, message: string, details?: object];

const ANTHROPIC: Record<Trouble, (asked: Asked) => AnthropicForm> = {
  rate_limited: () => [
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 50 requests per minute.",
  ],
  insufficient_quota: () => [
    429,
    'rate_limit_error',
    "Your organization has reached its usage tier's monthly spend limit.",
    { error_code: 'enforced_spend_limit_reached' },
  ],
  credit_too_low: () => [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ],
  payment_required: () => [
    402,
    'billing_error',
    'There is an issue with your billing or payment information.',
  ],
  overloaded: () => [529, 'overloaded_error', 'Overloaded'],
  server_error: (asked) => [500, 'api_error', quoted(asked)],
  context_too_long: () => [
    400,
    'invalid_request_error',
    'prompt is too long: 214512 tokens > 200000 maximum',
  ],
  unauthorized: () => [401, 'authentication_error', 'invalid x-api-key'],
  forbidden: () => [
    403,
    'permission_error',
    'Your API key does not have permission to use the specified resource.',
  ],
  model_not_found: ({ model }) => [404, 'not_found_error', `model: ${model}`],
  bad_request: () => [400, 'invalid_request_error', 'max_tokens: Input should be greater than or equal to 1'],
  output_blocked: () => [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
  unknown_path: () => [404, 'not_found_error', 'Not Found'],
  unreadable_body: () => [400, 'invalid_request_error', 'The request body is not valid JSON'],
};
