/** `10:15:02`, here. */
export function clock(at: string): string {
  return new Date(at).toTimeString().slice(0, 'hh:mm:ss'.length);
}
