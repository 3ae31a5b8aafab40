import type { Outcome } from './situation.ts';

interface Difference {
  because: string;
  /** What differs from kubectl's outcome. */
  outcome(kubectl: Outcome): Partial<Outcome>;
}

const REVIEW = 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews';

const fails = (because: string, result: string): Difference => ({
  because,
  outcome: () => ({ result, server: [], proxy: [] }),
});

/** Where devloop differs from kubectl on purpose, by the name of the situation. */
export const DIFFERENCES: Record<string, Difference> = {
  'address: a fragment': {
    because: 'kubectl takes the fragment for a part of the path',
    outcome: ({ server }) => ({ server: server.map((line) => line.replace('/a%23b/', '/a/')) }),
  },
  'files: no HOME, and .kube/config in the current directory': fails(
    'kubectl then uses the kubeconfig of the current directory, which may be a checkout; devloop looks in the home of the account',
    'kubeconfig',
  ),
  'context: --context that is empty': fails(
    'in a script, an empty name comes from a variable that is not set, and must not choose another cluster',
    'kubeconfig',
  ),
  'certificate: itself as the CA, for signatures alone': fails(
    'OpenSSL refuses a certificate of a server whose keyUsage does not allow TLS',
    'untrusted',
  ),
  'user: auth-provider oidc whose issuer does not answer': fails(
    'the error of devloop names the login',
    'login',
  ),
  'user: auth-provider oidc whose issuer is not trusted': fails(
    'the error of devloop names the login',
    'login',
  ),
  'certificate: the server redirects': {
    because: 'kubectl sends the credentials to any place that the server names',
    outcome: ({ server }) => ({ result: 'rejected', server: server.slice(0, 1) }),
  },
  'proxy: HTTPS_PROXY for LOCALHOST': {
    because: 'Go knows localhost in small letters only; the proxy of this situation does not exist',
    outcome: () => ({
      result: 'ok',
      server: [`${REVIEW} host=localhost authorization=Bearer first sni=localhost`],
    }),
  },
  'proxy: HTTPS_PROXY for [::ffff:127.0.0.1]': fails(
    'Node writes such an address in another way, and no certificate has it',
    'untrusted',
  ),
  'proxy: HTTPS_PROXY that is no URL': fails('devloop says it before it connects', 'kubeconfig'),
  'proxy: HTTPS_PROXY with a space': fails('devloop says it before it connects', 'kubeconfig'),
  'proxy: HTTPS_PROXY with a port that is none': fails('devloop says it before it connects', 'kubeconfig'),
  'proxy: HTTP_PROXY of plain HTTP in a CGI program': fails(
    'devloop says it before it connects',
    'kubeconfig',
  ),
  'proxy: proxy-url without a host': fails('devloop says it before it connects', 'kubeconfig'),
  'plugin: prints: a token that has expired': {
    because: 'kubectl runs the plugin again for the TLS handshake',
    outcome: ({ plugins }) => ({ plugins: plugins.slice(0, 1) }),
  },
  'plugin: prints: a token with a line feed': fails('the error of devloop names the plugin', 'login'),
  'plugin: prints: a token with a line feed at its end': fails(
    'the error of devloop names the plugin',
    'login',
  ),
};
