/** Whether a text can be a key: an HTTP header carries it as it is, and nobody adds or loses a blank by pasting it. */
export function isKeyText(text: string, minLength: number): boolean {
  return text.length >= minLength && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
}
