import type { X509Certificate } from 'node:crypto';

/** `other-key`: the bundle holds the issuer's name, but not the key that signed. */
export type Trust = 'found' | 'expired' | 'other-key' | 'none';

/**
 * Whether a certificate leads to one of a bundle, over certificates that the server sends along, in whatever order. Lenient where
 * Go is strict (it does not ask whether an issuer may issue): a wrong "no" here would stop a user whose cluster works,
 * while a wrong "yes" is found by the probe a moment later.
 */
export function findTrust(
  leaf: X509Certificate,
  between: X509Certificate[],
  bundle: X509Certificate[],
  now: Date,
): Trust {
  // Also the self-signed certificate that is its own bundle, which may have an empty name for subject and issuer.
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

/** Every certificate that signed the leaf, or signed one that did. */
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
    // Keys of different kinds, or of a kind that is unknown here.
    return false;
  }
}

function isIn(one: X509Certificate, bundle: X509Certificate[]): boolean {
  return bundle.some((root) => root.raw.equals(one.raw));
}

function isValidAt(one: X509Certificate, now: Date): boolean {
  return now >= one.validFromDate && now <= one.validToDate;
}
