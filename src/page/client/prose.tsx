import { Link } from './parts.tsx';
import type { Store } from './store.ts';

/** A command in backticks, or the id of an entry. */
const PARTS = /`([^`\n]+)`|\b([rck]-\d{6,})\b/g;

/** A text of the terminal: with its lines, what is in backticks as code, which a click selects as a whole, and ids as links. */
export function Prose({ text, store }: { text: string; store: Store }) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(PARTS)) {
    const [all, code, id] = found;
    parts.push(text.slice(from, found.index));
    parts.push(code === undefined ? <Link id={id!} store={store} /> : <code class="command">{code}</code>);
    from = found.index + all.length;
  }
  parts.push(text.slice(from));
  return <span class="prose">{parts}</span>;
}
