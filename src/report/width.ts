import { stripVTControlCharacters } from 'node:util';

const PLAIN = /^[ -~]*$/;

/** The columns that a text takes in a terminal. Colours take none. */
export function widthOf(text: string): number {
  const bare = stripVTControlCharacters(text);
  if (PLAIN.test(bare)) return bare.length;
  return [...bare].reduce((sum, character) => sum + widthOfOne(character), 0);
}

/** As much of a text without colours as fits into this many columns. */
export function cutToWidth(text: string, columns: number): string {
  if (PLAIN.test(text)) return text.slice(0, columns);
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += widthOfOne(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** The patterns are in this function because their Unicode classes take a while to compile, and most texts are plain. */
function widthOfOne(character: string): number {
  // Combining and invisible characters.
  if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) return 0;
  // East Asian scripts and emoji.
  const isWide =
    /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
  return isWide.test(character) ? 2 : 1;
}
