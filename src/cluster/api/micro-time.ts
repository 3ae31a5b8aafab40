/** The current time in the format of Leases: `2026-01-01T00:00:00.000000Z`. */
export function microTime(): string {
  return new Date().toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
