export function quick(version: () => string, help: () => string | Buffer): boolean;
