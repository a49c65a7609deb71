/** Codes that the system, Node and undici give to broken connections. */

/** Faults of a connection that never was: nothing can have been sent. */
const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const PASSING = new Set([
  ...UNCONNECTED,
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Whether a fault of this code passes by itself. */
export function isPassingFault(code: string): boolean {
  return PASSING.has(code);
}

export function isWithoutConnection(code: string): boolean {
  return UNCONNECTED.has(code) || isLastingFault(code);
}

/** A name that no server has, or a server that cannot prove who it is: the same at the next attempt. */
const LASTING = /^(ENOTFOUND|ERR_INVALID_URL|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;

export function isLastingFault(code: string): boolean {
  return LASTING.test(code);
}
