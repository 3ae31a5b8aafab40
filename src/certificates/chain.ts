import type { X509Certificate } from 'node:crypto';

/** `other-key`: the bundle has a certificate with the issuer's name, but another key. */
export type Trust = 'found' | 'expired' | 'other-key' | 'none';

/**
 * Whether a certificate chains to one of a bundle, through the certificates that the server sends along, in any order. It is more lenient
 * than Go, since it does not check whether an issuer is a CA: a wrong "no" would stop a user whose cluster works, whereas the probe detects
 * a wrong "yes" a moment later.
 */
export function findTrust(
  leaf: X509Certificate,
  between: X509Certificate[],
  bundle: X509Certificate[],
  now: Date,
): Trust {
  // This covers a self-signed certificate that is its own bundle; its subject and issuer can be empty.
  if (bundle.some((root) => root.raw.equals(leaf.raw))) return 'found';
  const reached = reach(leaf, [...bundle, ...between], () => true);
  if (!reached.some((one) => isIn(one, bundle))) {
    return bundle.some((root) => [leaf, ...reached].some((one) => root.subject === one.issuer))
      ? 'other-key'
      : 'none';
  }
  const valid = reach(leaf, [...bundle, ...between], (one) => isValidAt(one, now));
  return valid.some((one) => isIn(one, bundle)) ? 'found' : 'expired';
}

/** Every certificate that signed the leaf, directly or through others. */
function reach(
  leaf: X509Certificate,
  candidates: X509Certificate[],
  allowed: (one: X509Certificate) => boolean,
): X509Certificate[] {
  const reached: X509Certificate[] = [];
  let rest = candidates.filter(allowed);
  for (let next: X509Certificate[] = [leaf]; next.length > 0; ) {
    const issuers = rest.filter((issuer) => next.some((one) => signed(issuer, one)));
    rest = rest.filter((one) => !issuers.includes(one));
    reached.push(...issuers);
    next = issuers;
  }
  return reached;
}

function signed(issuer: X509Certificate, one: X509Certificate): boolean {
  try {
    return one.checkIssued(issuer) && one.verify(issuer.publicKey);
  } catch {
    // The keys have different types, or a type that Node does not know.
    return false;
  }
}

function isIn(one: X509Certificate, bundle: X509Certificate[]): boolean {
  return bundle.some((root) => root.raw.equals(one.raw));
}

function isValidAt(one: X509Certificate, now: Date): boolean {
  return now >= one.validFromDate && now <= one.validToDate;
}
