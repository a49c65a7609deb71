/** Texts that look like keys and have no place in a file that is kept and shared. */

const FORMS: readonly RegExp[] = [
  // OpenAI, Anthropic, OpenRouter and many others
  /\b(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{16,}/,
  /\bAIza[\w-]{30,}/,
  /\b(?:gsk|xai|hf|pplx|fw|tgp|nvapi|r8|key)[-_](?=[\w-]*\d)[\w-]{20,}/,
  /\b(?:ghp|gho|ghs|github_pat|glpat)[-_]\w{16,}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bck_[\w]+_[\w]{16,}/,
  // a JSON Web Token
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/,
  /\bBearer\s+[\w.~+/-]{16,}/i,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

export function looksLikeKey(text: string): boolean {
  return FORMS.some((form) => form.test(text));
}
