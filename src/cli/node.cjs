// Gives http, https and fetch the proxy of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, as Node does itself from 22.21 and
// 24.5 on. Everything goes through CONNECT.
"use strict";

const [major, minor] = process.versions.node.split(".").map(Number);
if (!(major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21))) {
  const http = require("node:http");
  const https = require("node:https");
  const net = require("node:net");
  const tls = require("node:tls");

  const variable = (name) => process.env[name.toLowerCase()] || process.env[name];

  // The proxy for this host, if it has one; the variables may change while the program runs.
  const proxyFor = (secure, host, port) => {
    const text = variable(secure ? "HTTPS_PROXY" : "HTTP_PROXY");
    if (!text || !host) return undefined;
    const proxy = new URL(text);
    const name = host.replace(/^\[|\]$/g, "").toLowerCase();
    const covers = (entry) => {
      const withPort = /^([^:]+|\[.*\]):(\d+)$/.exec(entry);
      const bare = (withPort ? withPort[1] : entry).replace(/^\[|\]$/g, "").toLowerCase();
      if (bare === "" || (withPort && Number(withPort[2]) !== port)) return false;
      return bare === "*" || name === bare || name.endsWith(bare.startsWith(".") ? bare : `.${bare}`);
    };
    const isProxy = name === proxy.hostname && port === Number(proxy.port);
    return isProxy || (variable("NO_PROXY") || "").split(/[\s,]+/).some(covers) ? undefined : proxy;
  };

  const tunnel = (proxy, host, port, done) => {
    const path = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
    const headers = { host: path };
    if (proxy.username) {
      const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
      headers["proxy-authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
    }
    const { hostname, port: at } = proxy;
    const request = http.request({ method: "CONNECT", hostname, port: at, path, headers, agent: false });
    request.once("error", done);
    request.once("connect", (response, socket) => {
      request.removeListener("error", done);
      if (response.statusCode === 200) return done(null, socket);
      socket.destroy();
      const why = response.headers["contrail-answer"] ?? "CONNECT";
      return done(new Error(`the proxy answered ${response.statusCode} for ${path} (${why})`));
    });
    request.end();
  };

  for (const [{ Agent }, secure] of [[http, false], [https, true]]) {
    const direct = Agent.prototype.createConnection;
    Agent.prototype.createConnection = function createConnection(options, callback) {
      const port = Number(options?.port) || (secure ? 443 : 80);
      const isRoutable = typeof callback === "function" && !options.socketPath;
      const proxy = isRoutable ? proxyFor(secure, options.host, port) : undefined;
      if (!proxy) return direct.apply(this, arguments);
      tunnel(proxy, options.host, port, (error, socket) => {
        if (error) callback(error);
        else callback(null, secure ? direct.call(this, { ...options, socket }) : socket);
      });
    };
  }

  // The dispatcher of fetch comes with its other classes.
  void globalThis.Headers;
  const key = Symbol.for("undici.globalDispatcher.1");
  const direct = globalThis[key];
  if (direct) {
    class Proxied extends direct.constructor {
      dispatch(options, handler) {
        const { protocol, hostname, port } = new URL(options.origin);
        const secure = protocol === "https:";
        const proxy = proxyFor(secure, hostname, Number(port) || (secure ? 443 : 80));
        return proxy ? super.dispatch(options, handler) : direct.dispatch(options, handler);
      }
    }
    const connect = ({ protocol, hostname, port, servername }, callback) => {
      const secure = protocol === "https:";
      const at = Number(port) || (secure ? 443 : 80);
      const proxy = proxyFor(secure, hostname, at);
      if (!proxy) return void callback(new Error(`the proxy variables changed; ${hostname} has no proxy any more`));
      tunnel(proxy, hostname, at, (error, socket) => {
        if (error || !secure) return callback(error, socket);
        const name = servername || (net.isIP(hostname) ? "" : hostname);
        const opened = tls.connect({ socket, servername: name, ALPNProtocols: ["http/1.1"] });
        opened.once("error", callback);
        opened.once("secureConnect", () => {
          opened.removeListener("error", callback);
          callback(null, opened);
        });
      });
    };
    globalThis[key] = new Proxied({ connect });
  }
}
