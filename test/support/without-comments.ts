/** A source in TypeScript without its comments, as far as a pattern can find them. */
export function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*$/gm, '');
}
