// esbuild puts the style sheets that a script imports into one beside it.
declare module "*.css";
