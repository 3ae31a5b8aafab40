/** The part of node-forge that is loaded by itself; its types name the whole only. */
declare module 'node-forge/lib/asn1.js' {
  import { asn1 } from 'node-forge';
  export default asn1;
}
