# etc: what an administrator installs and edits
colocsharedir = $(datadir)/coloc
dist_colocshare_DATA = etc/coloc.yaml
examplesdir = $(colocsharedir)/examples
dist_examples_DATA = etc/examples/qos.yaml etc/examples/teaching.yaml etc/examples/throughput.yaml
nodist_colocshare_DATA = etc/coloc-plugstack.conf
systemdsystemunit_DATA = etc/colocd.service
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = etc/completion/colocctl
EXTRA_DIST += etc/coloc-plugstack.conf.in etc/colocd.service.in
CLEANFILES += etc/coloc-plugstack.conf etc/colocd.service

etc_subst = $(MKDIR_P) etc && $(SED) -e 's|@slurm_plugindir[@]|$(slurm_plugindir)|g' \
	-e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g'

etc/coloc-plugstack.conf: etc/coloc-plugstack.conf.in Makefile
	$(AM_V_GEN)$(etc_subst) $(srcdir)/etc/coloc-plugstack.conf.in > $@
etc/colocd.service: etc/colocd.service.in Makefile
	$(AM_V_GEN)$(etc_subst) $(srcdir)/etc/colocd.service.in > $@

# An edited configuration is never overwritten. One completion serves three programs.
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bashcompdir)'
	for p in colocacct colocsim; do ln -sf colocctl '$(DESTDIR)$(bashcompdir)'/$$p; done
	$(MKDIR_P) '$(DESTDIR)$(sysconfdir)/coloc'
	test -e '$(DESTDIR)$(sysconfdir)/coloc/coloc.yaml' || \
		$(INSTALL_DATA) $(srcdir)/etc/coloc.yaml '$(DESTDIR)$(sysconfdir)/coloc/coloc.yaml'
uninstall-local:
	rm -f '$(DESTDIR)$(bashcompdir)/colocacct' '$(DESTDIR)$(bashcompdir)/colocsim'
	if cmp -s $(srcdir)/etc/coloc.yaml '$(DESTDIR)$(sysconfdir)/coloc/coloc.yaml'; then \
		rm -f '$(DESTDIR)$(sysconfdir)/coloc/coloc.yaml'; fi
	-rmdir '$(DESTDIR)$(sysconfdir)/coloc' 2>/dev/null
