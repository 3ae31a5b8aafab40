/** Any part of a value, at each depth; a function is whole. */
type Part<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends Promise<infer V>
    ? Promise<Part<V>>
    : T extends object
      ? { [K in keyof T]?: Part<T[K]> | undefined }
      : T;

/** A value of which what is tested reads only this part. A field that the type does not have, or that has another type, does not compile. */
export function partly<T>(part: Part<T>): T {
  return part as T;
}
